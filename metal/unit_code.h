// SPDX-License-Identifier: MIT
// What compile_unit() makes of a unit: parts that engines run one after the
// other, as one command buffer, then copies to variables and updates in place,
// which end it, or the run. A part is bound to memory once and encoded at every
// execution.
//
// An engine is a pair of classes: EngineCode (compiled, knows no memory) and
// BoundCode (with memory, knows how to encode itself).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "metal/heap_buffer.h"

namespace traingraph::metal {

/// Where the arguments of a unit are.
class UnitMemory {
 public:
  UnitMemory(const Unit& unit, std::span<const Location> locations)
      : unit_(unit), locations_(locations) {}

  const Location& at(int arg) const { return locations_[unit_.args[arg]]; }
  /// The first bytes of an argument; nil when there is no buffer to be had.
  ObjcPtr<id<MTLBuffer>> buffer(int arg, std::size_t bytes) const {
    return heap_of(at(arg)).part(at(arg).offset, bytes);
  }

 private:
  const Unit& unit_;
  std::span<const Location> locations_;
};

class BoundCode {
 public:
  virtual ~BoundCode() = default;
  /// The queue's thread encodes.
  virtual void encode(MPSCommandBuffer* buffer) = 0;
  /// Does encode() read device memory on the host, this time? Then all that was
  /// encoded before has completed.
  virtual bool reads_memory() const { return false; }
  /// May encode() be called before it is certain that its commands will run?
  virtual bool may_be_dropped() const { return true; }
};

class EngineCode {
 public:
  virtual ~EngineCode() = default;
  /// Refers to this code. Null when there is no buffer to be had.
  virtual std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const = 0;
};

struct MetalUnitCode final : UnitCode {
  /// New contents of a variable, to be copied when all parts are done.
  struct WriteBack {
    int from_arg = 0, to_arg = 0;
    std::size_t bytes = 0;
    /// When all units of the run are done: else a unit that fails later would
    /// leave some variables new and others old.
    bool is_deferred = false;
  };

  std::string label;
  /// Variables change before the run is over: not all of its write_backs are
  /// deferred, or it has `in_place`, or a part writes variables itself.
  bool updates_variables = false;
  double estimated_ms = 0;        // see GpuLimits::estimated_ms()
  std::size_t scratch_bytes = 0;  // see scratch.h
  std::vector<std::unique_ptr<EngineCode>> parts;
  std::vector<WriteBack> write_backs;
  /// These run after the copies, and after the deferred ones; both may be null.
  /// Variables change here and in the copies only, so that they stay as they
  /// are when a part fails.
  std::unique_ptr<EngineCode> in_place, deferred_in_place;
};

}  // namespace traingraph::metal
