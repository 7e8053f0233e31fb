// SPDX-License-Identifier: MIT
// Runs a program on the CPU kernels without planner and runtime: every storage
// has its own memory, every unit runs in order. What fails here is a kernel or
// its lowering, nothing else. Results start as NaN and memory has guard bytes,
// so that unwritten elements and writes past the end show.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "compiler/target.h"
#include "cpu/lowering.h"

namespace traingraph::testing {

class ProgramRun {
 public:
  explicit ProgramRun(const Program& program, std::vector<ValueId> kept = {});

  /// Contents of an input or variable. Throws ShapeError on a wrong size.
  void set_bytes(ValueId value, std::span<const std::byte> contents);
  template <class T>
  void set(ValueId value, const std::vector<T>& contents) {
    set_bytes(value, std::as_bytes(std::span(contents)));
  }

  /// Runs all units. With `in_place`, units do write over inputs that no later
  /// unit reads, as the planner may make them.
  void run(bool in_place = false);

  /// Plain contents of a kept value or variable.
  template <class T = float>
  std::vector<T> get(ValueId value) const {
    const std::span<const std::byte> bytes = contents(value);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  /// Are the bytes around every storage untouched?
  bool has_intact_guards() const;
  int num_reorders() const;
  const LoweredProgram& lowered() const { return lowered_; }

 private:
  std::span<const std::byte> contents(ValueId value) const;

  const Program& program_;
  std::vector<ValueId> kept_;
  LoweredProgram lowered_;
  std::vector<std::vector<std::byte>> memory_;  // one per storage
  std::vector<std::byte*> address_;             // of each storage
};

}  // namespace traingraph::testing
