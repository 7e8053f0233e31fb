// SPDX-License-Identifier: MIT
// What a verified run consists of: the units of the device, and those of the
// reference, which computes a phase when the device has computed all of them.
// A phase begins with what the device holds, so that an update of rounding
// noise (Adam makes steps of it) is compared with an update of the same noise.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/device/compare_tensors.h"
#include "runtime/device/device_context.h"

namespace traingraph {

/// The same program on the reference device, every storage with bytes of its
/// own that stay from one run to the next.
struct ReferenceProgram final : TargetData {
  ReferenceProgram(Program program, LoweredProgram lowered)
      : program(std::move(program)), lowered(std::move(lowered)) {}

  const Program program;
  const LoweredProgram lowered;
  /// By storage, all or none; allocated by the first run.
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
};

/// A tensor of the device's and the reference's.
struct GivenTensor {
  Location from, to;
  std::size_t bytes;
};
struct VerifiedTensor {
  ComparedTensor tensor;
  Location got, expected;
};

struct VerifiedPhase {
  /// Computed by the device in earlier phases of the run.
  std::vector<GivenTensor> given;
  std::unique_ptr<BoundUnits> reference;
  std::vector<VerifiedTensor> compared;  // in program order
};

struct VerifiedUnits final : BoundUnits {
  std::unique_ptr<BoundUnits> device;
  /// What the run reads and does not compute, variables before their changes.
  std::vector<GivenTensor> given;
  std::vector<VerifiedPhase> phases;
};

/// All but VerifiedUnits::device. `locations` are those of `program`, which the
/// device runs `units` of.
std::unique_ptr<VerifiedUnits> verify_units(const LoweredProgram& program,
                                            std::span<const UnitId> units,
                                            std::span<const Location> locations,
                                            const ReferenceProgram& reference,
                                            DeviceContext& context);

}  // namespace traingraph
