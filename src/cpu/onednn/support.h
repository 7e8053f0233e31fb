// SPDX-License-Identifier: MIT
// oneDNN's side of the border: the engine, descriptors of our tensors, and
// primitives bound to addresses. oneDNN's exceptions become ours here.
#pragma once

#include <dnnl.hpp>
#include <span>
#include <vector>

#include "cpu/engine/engine.h"
#include "lowering/layout.h"

namespace traingraph::cpu {

/// The process-wide CPU engine.
const dnnl::engine& engine();

dnnl::memory::data_type to_dnnl(DataType type);
// Layouts are descriptors that own no kilobyte each; what oneDNN chose for
// itself carries its descriptor along.
dnnl::memory::desc to_desc(const Layout& layout);
Layout to_layout(const dnnl::memory::desc& desc);
/// The tensor's shape in whatever layout a primitive likes.
dnnl::memory::desc any_layout(const TensorDescriptor& tensor);

/// Scratchpad attribute that every primitive uses: the planner owns the bytes.
dnnl::primitive_attr user_scratchpad();

/// Bytes that a primitive made with user_scratchpad() asks for.
std::size_t scratchpad_bytes(const dnnl::primitive_desc_base& primitive);

/// Runs a primitive on the threads that it was made for (PrimitiveThreads).
dnnl_status_t execute(const dnnl::primitive& primitive,
                      std::span<const dnnl_exec_arg_t> args);
/// Throws what a failed primitive means to the caller of a step.
void require_executed(dnnl_status_t status);

/// A primitive with its arguments fixed; calling it allocates nothing.
class BoundPrimitive {
 public:
  struct Arg {
    int dnnl_arg;  // DNNL_ARG_SRC ...
    dnnl::memory::desc desc;
    std::byte* address;
  };
  /// `num_threads`: those it was made for.
  BoundPrimitive(const dnnl::primitive& primitive, int num_threads,
                 std::span<const Arg> args);
  void operator()() const;
  /// Moves argument `i` of the list to this address.
  void move(std::size_t i, std::byte* address) {
    memories_[i].set_data_handle(address);
  }

 private:
  dnnl::primitive primitive_;
  int num_threads_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
};

}  // namespace traingraph::cpu
