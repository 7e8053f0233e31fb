// SPDX-License-Identifier: MIT
// Writes the text of one kernel of a unit along with what it is launched with.
// A kernel family asks it for names of what it reads and writes, and puts them
// into the call of a template of src/cuda/kernels:
//
//   KernelWriter kernel("map.cuh");
//   const std::string x = kernel.pointer(unit.read(0), type);
//   const std::string y = kernel.pointer(unit.write(0), type);
//   const std::string n = kernel.number(count, /*varies=*/true);
//   kernel.body("map<4>(" + n + ", [=](Index i) { return " + x + "[i]; },
//   ..."); emit(unit, {std::move(kernel).launch(blocks, 256)});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda/code/cuda_code.h"
#include "lowering/unit_builder.h"

namespace traingraph::cuda {

/// The type of elements in kernels: "float", "bfloat16".
std::string type_text(DataType type);
/// A literal that reads back as the same number, infinities and NaN included.
std::string literal(float value);
std::string literal(std::int64_t value);

class KernelWriter {
 public:
  /// A template's file in src/cuda/kernels.
  explicit KernelWriter(std::string_view header) { include(header); }
  void include(std::string_view header) {
    text_.headers.insert(std::string(header));
  }

  /// The name of a pointer to argument `arg` of the unit, `offset` bytes in.
  std::string pointer(int arg, DataType type, std::int64_t offset = 0);
  /// An integer: a literal, or the name of a parameter where it `varies` with
  /// the batch. Of type Index (64 bits, signed) either way.
  std::string number(std::int64_t value, bool varies);
  /// The name of an array of 64-bit words (Words<n>), which is a parameter.
  std::string words(const std::vector<Parameter>& words);
  /// Adds to what each thread does.
  void body(std::string_view text) { body_ += text; }
  /// A fresh name for a local.
  std::string local() { return "v" + std::to_string(num_locals_++); }

  /// Blocks of `threads` threads each.
  Launch launch(std::int64_t blocks, unsigned threads,
                unsigned shared_bytes = 0) &&;
  /// Threads may have all registers that a block can have: without this, some
  /// are spilled for more blocks at once than there is shared memory for.
  void need_registers() { needs_registers_ = true; }

 private:
  std::string add(const std::string& type, std::string name,
                  const std::vector<Parameter>& parameter);

  KernelText text_;
  std::string signature_, body_;
  std::vector<Parameter> parameters_;
  std::vector<std::uint32_t> starts_;
  int num_locals_ = 0;
  bool needs_registers_ = false;
};

/// Ends the lowering of the builder's node.
void emit(UnitBuilder& unit, std::vector<Launch> launches);

}  // namespace traingraph::cuda
