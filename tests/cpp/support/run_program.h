// SPDX-License-Identifier: MIT
// Runs a program on a device without planner and session: every storage has
// its own memory, every unit runs in order. What fails here is a kernel or its
// lowering, nothing else. Results start as NaN and memory has guard bytes, so
// that unwritten elements and writes past the end show.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "compiler/target.h"
#include "runtime/device/device_context.h"
#include "support/test_device.h"

namespace traingraph::testing {

class ProgramRun {
 public:
  /// `program` outlives the run; it need not compute anything (Null).
  explicit ProgramRun(const Program& program, std::vector<ValueId> kept = {},
                      DeviceType device = test_device_type());
  ProgramRun(const Program& program, std::vector<ValueId> kept,
             std::shared_ptr<DeviceContext> device);

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
    const std::vector<std::byte> bytes = contents(value);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  /// Are the bytes around every storage untouched?
  bool has_intact_guards() const;
  /// Has no unit written to a value since the start?
  bool is_unwritten(ValueId value) const;
  int num_reorders() const;
  const LoweredProgram& lowered() const { return lowered_; }

 private:
  bool is_free_after(StorageId storage, std::size_t unit) const;
  void place_storages(bool in_place);
  std::vector<std::byte> contents(ValueId value) const;

  const Program& program_;
  std::vector<ValueId> kept_;
  std::shared_ptr<DeviceContext> device_;
  LoweredProgram lowered_;
  std::vector<std::shared_ptr<DeviceBuffer>> buffers_;  // one per storage
  std::vector<Location> own_;    // each storage in its own buffer
  std::vector<Location> place_;  // where the last run had it
};

}  // namespace traingraph::testing
