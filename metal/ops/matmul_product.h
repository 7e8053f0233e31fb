// SPDX-License-Identifier: MIT
// Products of many matrices, for the families that need them.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

/// Matrices, the last two axes of a tensor of rank 2 or 3; `is_transposed` ones
/// are multiplied transposed.
struct MatrixOperand {
  T tensor;
  Shape shape;
  bool is_transposed;

  int inner_axis(bool is_first) const {
    return shape.rank() - (is_first != is_transposed ? 1 : 2);
  }
  int outer_axis(bool is_first) const { return inner_axis(!is_first); }
};

/// The products of `num_matrices` matrices each, of which a first axis of size
/// 1 serves all. Long inner dimensions and many matrices are done in tiles
/// (GpuLimits::max_matmul_extent), so are many rows and columns
/// (max_matmul_rows).
T product(GraphBuilder& b, const MatrixOperand& x, const MatrixOperand& y,
          std::int64_t num_matrices);
/// Multiplies two matrices as they are; every other product of a lowering calls
/// this.
T matrix_product(GraphBuilder& b, T x, T y);

}  // namespace traingraph::metal
