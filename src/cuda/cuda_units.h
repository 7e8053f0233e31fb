// SPDX-License-Identifier: MIT
// Units with their addresses: recorded once, and launch by launch where the
// time of each unit is asked for.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/stream/cuda_stream.h"
#include "runtime/device/device_context.h"

namespace traingraph::cuda {

class CudaUnits final : public BoundUnits {
 public:
  CudaUnits(CudaStream& stream, const LoweredProgram& program,
            std::span<const UnitId> units, std::span<const Location> locations,
            std::span<const std::vector<PoisonRange>> poison,
            const std::shared_ptr<const Kernel>& poison_kernel);

  RecordedRun& run() { return *run_; }
  /// Enqueues what `run` holds, with an event around each unit, waits for it,
  /// and stores the seconds of each.
  void run_timed(CudaStream& stream, std::span<double> unit_seconds) const;

 private:
  std::vector<BoundStep> steps_;
  std::vector<std::size_t> end_of_;  // by unit: the end of its steps
  std::vector<std::shared_ptr<const Kernel>> kernels_;  // kept loaded
  std::unique_ptr<RecordedRun> run_;
};

/// The kernel that overwrites bytes with NaN patterns.
KernelText poison_text();

}  // namespace traingraph::cuda
