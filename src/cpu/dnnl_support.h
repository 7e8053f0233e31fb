// SPDX-License-Identifier: MIT
// oneDNN's side of the border: the engine, descriptors of our tensors, and
// primitives bound to addresses. oneDNN's exceptions become ours here.
#pragma once

#include <dnnl.hpp>
#include <functional>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "traingraph/types.h"

namespace traingraph::cpu {

/// The process-wide CPU engine.
const dnnl::engine& engine();

dnnl::memory::dims to_dims(const Shape& shape);
dnnl::memory::data_type to_dnnl(DataType type);
/// Row-major descriptor of `shape` (rank 0 becomes (1)).
dnnl::memory::desc plain_desc(const Shape& shape, DataType type);

/// plain_desc() of many tensors: equal ones share one object, which takes about
/// a kilobyte.
class PlainDescs {
 public:
  const dnnl::memory::desc& of(const TensorDescriptor& tensor);

 private:
  struct Less {
    bool operator()(const TensorDescriptor& a, const TensorDescriptor& b) const;
  };
  std::map<TensorDescriptor, dnnl::memory::desc, Less> descs_;
};

/// The layout of `like` (one that convolutions choose) for another shape; the
/// plain one when it is none of those.
dnnl::memory::desc layout_like(const dnnl::memory::desc& like,
                               const TensorDescriptor& desc);

/// Do both place every element at the same offset? Unlike ==, strides of axes
/// with one element do not count.
bool same_layout(const dnnl::memory::desc& a, const dnnl::memory::desc& b);
/// Is it row-major, without gaps?
bool is_plain(const dnnl::memory::desc& layout);
/// Are there bytes that belong to no element (channels rounded up to a block)?
/// oneDNN wants zeros there.
bool is_padded(const dnnl::memory::desc& layout);

/// Runs `f`, which makes primitives; a dnnl::error becomes UnsupportedError (no
/// implementation, or sizes out of its range), OutOfMemoryError or DeviceError
/// naming op and node.
template <class F>
auto translate_errors(const char* op, const std::string& node, F&& f)
    -> decltype(f());

/// Scratchpad attribute that every primitive uses: the planner owns the bytes.
dnnl::primitive_attr user_scratchpad();

/// Bytes that a primitive made with user_scratchpad() asks for.
std::size_t scratchpad_bytes(const dnnl::primitive_desc_base& primitive);

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
  /// From now on argument `i` of the list is at this address.
  void move(std::size_t i, std::byte* address) {
    memories_[i].set_data_handle(address);
  }

 private:
  dnnl::primitive primitive_;
  int num_threads_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
};

[[noreturn]] void fail_out_of_memory(const char* op, const std::string& node);
[[noreturn]] void rethrow_dnnl(const char* op, const std::string& node,
                               const dnnl::error& error);

template <class F>
auto translate_errors(const char* op, const std::string& node, F&& f)
    -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    rethrow_dnnl(op, node, error);
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(op, node);
  }
}

}  // namespace traingraph::cpu
