// SPDX-License-Identifier: MIT
// What a verified run consists of: the units of the device, and those of the
// reference, each of which computes with what the device holds when it has
// computed all of them. So what is compared is one op at a time. Rounding noise
// does not grow from op to op: where a gradient is 0 in theory, Adam makes
// whole steps of it, and where two samples are equal but for their last bit,
// pooling picks one or the other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/device/compare_tensors.h"
#include "runtime/device/device_context.h"

namespace traingraph {

/// The program on the reference device: every storage has bytes of its own,
/// which stay from one run to the next.
struct ReferenceProgram final : TargetData {
  ReferenceProgram(Program program, LoweredProgram lowered)
      : program(std::move(program)), lowered(std::move(lowered)) {}

  const Program program;
  const LoweredProgram lowered;
  /// Buffers are by storage, all or none; the first run allocates them.
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
};

/// A tensor that the device and the reference both have.
struct GivenTensor {
  Location from, to;
  std::size_t bytes;
};
struct VerifiedTensor {
  ComparedTensor tensor;
  Location got, expected;
};

/// A unit of the reference, or views alone.
struct VerifiedUnit {
  /// The unit reads these, and earlier units of the run compute them.
  std::vector<GivenTensor> given;
  std::unique_ptr<BoundUnits> reference;  // null: views alone
  std::vector<VerifiedTensor> compared;   // in program order
};

struct VerifiedUnits final : BoundUnits {
  using BoundUnits::BoundUnits;

  std::unique_ptr<BoundUnits> device;
  /// The run reads these and does not compute them; variables are as before
  /// their changes.
  std::vector<GivenTensor> given;
  std::vector<VerifiedUnit> units;
  bool has_16_bits = false;  // among what is compared
};

/// Makes all but VerifiedUnits::device. `locations` are those of `program`,
/// which the device runs `units` of.
std::unique_ptr<VerifiedUnits> verify_units(const LoweredProgram& program,
                                            std::span<const UnitId> units,
                                            std::span<const Location> locations,
                                            const ReferenceProgram& reference,
                                            DeviceContext& context);

}  // namespace traingraph
