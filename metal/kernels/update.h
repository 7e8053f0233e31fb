// SPDX-License-Identifier: MIT
// The kernels of optimizer updates: which one, and what a launch has room for.
#pragma once

#include "lowering/update_table.h"
#include "metal/kernels/kernels.h"

namespace traingraph::metal {

/// What setBytes takes.
inline constexpr std::size_t kMaxTableBytes = 4096;

/// Positions of threads are 32 bits.
inline constexpr UpdateLimits kUpdateLimits{
    .num_tensors = kMaxTableBytes / sizeof(formulas::UpdateTensor),
    .num_chunks = (std::int64_t{1} << 31) / formulas::kThreadsPerChunk};

/// Throws InternalError for an op that has none.
Kernel update_kernel(OpKind op);

}  // namespace traingraph::metal
