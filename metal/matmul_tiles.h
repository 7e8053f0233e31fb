// SPDX-License-Identifier: MIT
// Matrix products of any rank as products that MPSGraph computes reliably:
// at most one axis of matrices, extents below kMatMulLimit (assumptions.h).
// Plain C++, tested everywhere.
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

/// As few tiles below kMatMulLimit as cover `extent`, of nearly equal length.
std::vector<Tile> matmul_tiles(std::int64_t extent);

}  // namespace traingraph::metal
