// SPDX-License-Identifier: MIT
// Moving elements, for the families that slice, pad and join. Folding to rank
// 3 around one axis (fold.h) keeps them within what every system can do.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

/// Input and result of an op that only moves elements. Booleans travel as
/// Int8: some systems refuse to pad or join them. The result is reshaped.
T moved_input(GraphBuilder& b, int input);
void set_moved(GraphBuilder& b, T x, int result = 0);

/// A slice whose rows lie so many elements apart, in memory of its own where
/// products would get that wrong (GpuLimits::max_matmul_rows).
T with_near_rows(GraphBuilder& b, T slice, std::int64_t distance);

T slice_axis(GraphBuilder& b, T x, int axis, std::int64_t start,
             std::int64_t length);
T concatenate(GraphBuilder& b, NSArray<MPSGraphTensor*>* parts, int axis);

/// Pads axis 1 of a tensor of rank 3.
T pad_middle(GraphBuilder& b, T x, std::int64_t before, std::int64_t after,
             MPSGraphPaddingMode mode = MPSGraphPaddingModeConstant,
             double value = 0);

}  // namespace traingraph::metal
