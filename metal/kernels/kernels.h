// SPDX-License-Identifier: MIT
// The kernels of our own. Adding one: a case, its name, its source in
// metal/kernels, and who uses it: nodes (metal/partition.h, in_place.h), or
// data sources of MPSNN's filters (metal/mpsnn/bound_parameters.h).
#pragma once

#include <cstddef>
#include <vector>

namespace traingraph::metal {

enum class Kernel {
  DropoutMask,     // buffers: random state, mask
  Dropout,         // buffers: random state, source, result
  MoveStatistics,  // buffers: before, those of a batch, after
  SumRows,         // buffers: rows, sums of columns
  // Buffers: see metal/kernels/update.h. Devices may do without these
  // (GpuLimits::uses_update_kernels); they are the last ones.
  SgdUpdate,
  AdamUpdate,
  RmspropUpdate,
  AccumulateGradient,
};
inline constexpr const char* kKernelNames[] = {
    "dropout_mask", "dropout",     "move_statistics", "sum_rows",
    "sgd_update",   "adam_update", "rmsprop_update",  "accumulate_gradient"};
inline constexpr int kNumKernels = 8;
inline constexpr Kernel kFirstUpdateKernel = Kernel::SgdUpdate;

/// One launch. The kernel finds `params` behind its buffers.
struct KernelLaunch {
  Kernel kernel = Kernel::DropoutMask;
  std::size_t num_threads = 0;  // at least; more do no harm
  std::vector<std::byte> params;
};

}  // namespace traingraph::metal
