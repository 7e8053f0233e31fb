// SPDX-License-Identifier: MIT
// What the compiler may ask of a backend. A target turns a program into units,
// the smallest things that are scheduled, and says how many bytes each piece
// of storage takes on the device. It never allocates and never runs anything.
//
// A CPU unit is one kernel; a Metal unit is one MPSGraph executable, and may
// hold a whole phase. Storage is what units read and write: the device's form
// of a value, an alias (a reshape shares its source's storage), a copy in
// another layout, a scratchpad. The planner sees only units and storage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/batch_extents.h"
#include "graph/program.h"

namespace traingraph {

using StorageId = std::int32_t;
using UnitId = std::int32_t;

struct Storage {
  std::size_t bytes = 0;
  /// The value whose contents this holds in plain row-major layout, when there
  /// is one. Variables, inputs, constants and everything that the host reads
  /// always have such a storage.
  ValueId value = kNoValue;
  std::string name;
  /// The unit that writes it reads it back from memory: it is moved twice.
  bool is_read_back = false;
  /// The device reads it once more when all units of the run (of the phase,
  /// where phases run one by one) are over in which a unit touches it.
  bool is_read_at_end = false;
  /// A prepared unit writes it and others read it: its bytes stay from run to
  /// run.
  bool is_kept = false;
};

/// A unit may write result storage `output` over `input` when this unit is the
/// last to read `input` and both have the same size.
struct InPlace {
  StorageId output, input;
};

/// Device-specific code of a unit; only the target's own runtime looks inside.
class UnitCode {
 public:
  virtual ~UnitCode() = default;
};

struct Unit {
  Phase phase = Phase::Forward;
  std::vector<NodeId> nodes;  // what it computes; never empty
  /// All storage the unit touches, in the order its code expects. A storage
  /// may be both read and written (a mutated variable, an accumulator).
  std::vector<StorageId> args;
  std::vector<StorageId> reads;
  std::vector<StorageId> writes;
  std::vector<StorageId> scratch;  // written and read by this unit only
  std::vector<InPlace> in_place;
  std::unique_ptr<UnitCode> code;
  bool is_reorder = false;  // only changes a layout; counted in the report
  /// The runtime runs it, on bytes in row-major order, between units of the
  /// device, which does not bind it. It has no code.
  bool is_host = false;
  /// It need not run while what it reads is as it was; see prepared_units.h.
  bool is_prepared = false;
  std::string layout;  // of the first result, for people; empty: not known
  /// Tensors that are copied to images or back, since the neighbours run on
  /// another engine of the device.
  int image_copies = 0;
};

/// Whatever a target wants to find again when the program is bound.
class TargetData {
 public:
  virtual ~TargetData() = default;
};

struct LoweredProgram {
  std::vector<Storage> storages;
  /// Plain storage of each value, or -1 when the value never exists by itself.
  std::vector<StorageId> storage_of;
  std::vector<Unit> units;
  std::shared_ptr<TargetData> data;
  /// Sentences for people: what is done otherwise than it was asked for.
  std::vector<std::string> notes;
};

struct LowerOptions {
  /// Values that the host reads or that outlive their phase: they need plain
  /// storage even when no unit wants it.
  std::vector<ValueId> kept;
  bool fuses = true;
  /// Products may round float32 operands to bfloat16.
  bool rounds_operands = false;

  // Targets whose units hold many nodes set this. There is one timeline for
  // forward, gradient and update: units may span phases.
  bool joins_phases = false;
  /// Its phases are one run all the same.
  bool is_one_run = false;
  /// What depends on these values is not run when they are not given (labels
  /// at inference): no unit holds such nodes and others.
  std::vector<ValueId> may_be_absent = {};
  /// Updates may be left out one by one (parameters that linked graphs share).
  bool separates_updates = false;
  /// Limits the estimated time of a unit on the device; 0: no limit.
  double max_gpu_ms = 0;
  /// For targets that ask for them, of graphs that run several batch sizes.
  BatchExtents batch_extents = {};
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// Offsets are multiples of this.
  virtual std::size_t alignment() const { return 64; }
  /// A buffer of so many bytes begins at a multiple of this and takes a whole
  /// number of it; a multiple of alignment().
  virtual std::size_t alignment_of(std::size_t /*bytes*/) const {
    return alignment();
  }
  /// Does a step lowered as one run better than its three phases in a row?
  virtual bool joins_phases() const { return false; }
  /// Does lower() want to know which extents follow the batch?
  virtual bool wants_batch_extents() const { return false; }
  virtual bool computes_in(DataType) const { return true; }
  /// Can the node run with the types that it has? Where it cannot with floats
  /// of 16 bits, it gets float32 by casts around it.
  virtual bool computes(const Program&, const Node&) const { return true; }
  /// Returns the reason why the node cannot run; empty when it can.
  virtual std::string reason_unsupported(const Program&, const Node&) const = 0;
  /// Lowers every node of `program` in its order. Throws UnsupportedError
  /// naming op and node.
  virtual LoweredProgram lower(const Program& program,
                               const LowerOptions& options) const = 0;
  /// Does the device leave out prepared units while what they read is as it
  /// was?
  virtual bool keeps_prepared() const { return false; }
};

}  // namespace traingraph
