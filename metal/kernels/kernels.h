// SPDX-License-Identifier: MIT
// The kernels of our own. Adding one: a case, its name, its source in a .metal
// file of metal/kernels, and who uses it: nodes (metal/partition.h,
// in_place.h), or data sources of MPSNN's filters
// (metal/mpsnn/bound_parameters.h).
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "formulas/update_steps.h"

namespace traingraph::metal {

enum class Kernel {
  DropoutMask,     // buffers: random state, mask
  Dropout,         // buffers: random state, source, result
  MoveStatistics,  // buffers: before, those of a batch, after
  SumRows,         // buffers: rows, sums of columns
  // Buffers: see lowering/update_table.h. Devices may do without these
  // (GpuLimits::uses_update_kernels); they are the last ones.
  AccumulateGradient,
#define UPDATE(Op, name, Step) Op,
  TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
};
// clang-format off
inline constexpr const char* kKernelNames[] = {
    "dropout_mask", "dropout", "move_statistics", "sum_rows",
    "accumulate_gradient",
#define UPDATE(Op, name, Step) #name,
    TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
};
// clang-format on
inline constexpr int kNumKernels = std::size(kKernelNames);
inline constexpr Kernel kFirstUpdateKernel = Kernel::AccumulateGradient;

/// One launch. The kernel finds `params` behind its buffers.
struct KernelLaunch {
  Kernel kernel = Kernel::DropoutMask;
  std::size_t num_threads = 0;  // at least; more do no harm
  std::vector<std::byte> params;
};

}  // namespace traingraph::metal
