// SPDX-License-Identifier: MIT
// Indices of the gather family on the GPU, where no kernel can raise an error:
// positions that a graph computes outside of a tensor read and write inside of
// it, and what depends on them is NaN: of integers -1, which names no position
// either, and of Booleans false.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

struct Positions {
  T at;         // Int32, all inside
  T is_inside;  // Boolean: they were
};

/// Input `input`, viewed with this shape, as positions 0 to `count` - 1.
Positions positions(GraphBuilder& b, int input, const Shape& shape,
                    std::int64_t count);
/// `x`, but NaN (see above) where positions were outside; `is_inside`
/// broadcasts to it.
T nan_outside(GraphBuilder& b, T x, T is_inside);
/// `x`, but NaN everywhere unless all positions, of this shape, were inside.
T nan_unless_all(GraphBuilder& b, T x, T is_inside, const Shape& shape);

/// Is it a tensor of one column, and its last axis to be repeated before a
/// gather reads it (GpuLimits::min_gather_columns)?
bool is_narrow(GraphBuilder& b, T x);
/// The last axis, of size 1, so many times.
T repeated_column(GraphBuilder& b, T x);
T first_column(GraphBuilder& b, T x);

/// Slices of an axis by positions (k).
T gather_slices(GraphBuilder& b, T x, T at, int axis);
/// Rows of (n, width) by positions (k): (k, width).
T gather_rows(GraphBuilder& b, T table, T at);
/// Rows (k, width) added up by positions (k): `shape`, (n, width).
T add_rows(GraphBuilder& b, T rows, T at, const Shape& shape);
/// `table` with rows (k, width) at positions (k).
T set_rows(GraphBuilder& b, T table, T rows, T at);

}  // namespace traingraph::metal
