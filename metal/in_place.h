// SPDX-License-Identifier: MIT
// Which nodes of a unit change their variables in place: optimizer updates and
// sums of gradients, by kernels of ours (kernels/update.h) that run when
// MPSGraph's executable is done. Plain C++, tested everywhere.
#pragma once

#include <vector>

#include "metal/gpu_limits.h"
#include "metal/partition.h"

namespace traingraph::metal {

/// The updates are in the order of `unit.nodes`. The kernels run last, so a
/// node is none of them when MPSGraph reads what the node changes, or changes
/// what it reads, later in the unit; and there are none at all when one of them
/// reads what another one changes, but for accumulators. What is left over runs
/// on MPSGraph with its new values in scratch.
std::vector<InPlaceUpdate> find_in_place(const Program& program,
                                         const std::vector<NodeId>& producers,
                                         const GpuLimits& limits,
                                         const GpuUnit& unit);

}  // namespace traingraph::metal
