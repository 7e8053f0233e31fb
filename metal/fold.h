// SPDX-License-Identifier: MIT
// Reductions over many axes as reductions over few: MPSGraph is only reliable
// up to some rank (gpu_limits.h). Plain C++, tested everywhere.
#pragma once

#include <vector>

#include "traingraph/types.h"

namespace traingraph::metal {

/// View the tensor with this shape, then reduce these axes (kept with size 1).
struct FoldedReduction {
  Shape shape, axes;
};

/// Steps whose composition reduces `axes` of a tensor of `shape`; no step has
/// more than `max_rank` axes unless the tensor itself has no more.
/// Example: (2, 3, 4, 5, 6) over {0, 1, 4} -> (6, 20, 6) over {0, 2}.
std::vector<FoldedReduction> fold_reduction(const Shape& shape,
                                            const Shape& axes, int max_rank);

/// (product of the axes before, the axis, product of the axes after).
Shape around_axis(const Shape& shape, int axis);

}  // namespace traingraph::metal
