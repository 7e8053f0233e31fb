// SPDX-License-Identifier: MIT
// What MPSGraph gets wrong when it is large, in pieces: matrix products of any
// rank as products with at most one axis of matrices, and long extents as
// tiles. Plain C++, tested everywhere.
#pragma once

#include <vector>

#include "traingraph/types.h"

namespace traingraph::metal {

/// Broadcast the operands to the `full` shapes, then view them as `x` and `y`:
/// (rows, columns), or (matrices, rows, columns) where 1 matrix serves all.
/// Rows and columns are those of the operand as it is stored.
struct FoldedProduct {
  Shape x_full, y_full;
  Shape x, y;

  std::int64_t num_matrices() const;
};

/// Example: (8, 5, 64) times (64, 10) -> (40, 64) times (64, 10).
FoldedProduct fold_product(const Shape& x, bool transposes_x, const Shape& y);

struct Tile {
  std::int64_t start, length;
  bool operator==(const Tile&) const = default;
};

/// Cuts `extent` into as few tiles up to `longest` as cover it, of nearly equal
/// length.
std::vector<Tile> tiles_of(std::int64_t extent, std::int64_t longest);

}  // namespace traingraph::metal
