// SPDX-License-Identifier: MIT
#import "metal/ops/matmul_product.h"

#include <algorithm>

#import "metal/ops/layout_moves.h"
#import "metal/tiles.h"

namespace traingraph::metal {
namespace {

MatrixOperand cut(GraphBuilder& b, MatrixOperand operand, int axis,
                  const Tile& tile) {
  if (operand.shape[axis] == tile.length) return operand;
  const std::int64_t rank = operand.shape.rank();
  const std::int64_t longest =
      std::max(operand.shape[rank - 2], operand.shape[rank - 1]);
  operand.tensor = slice_axis(b, operand.tensor, axis, tile.start, tile.length);
  operand.shape[axis] = tile.length;
  // Its rows may lie as far apart as those of what it was cut from.
  if (longest > b.limits().max_matmul_rows) {
    operand.tensor = b.written(operand.tensor);
  }
  return operand;
}

T oriented(GraphBuilder& b, const MatrixOperand& operand) {
  return b.as_operand(operand.is_transposed ? b.transpose_matrix(operand.tensor)
                                            : operand.tensor);
}

/// Cuts the inner dimension, or the matrices, into tiles.
std::vector<Tile> tiles(const GraphBuilder& b, std::int64_t extent) {
  return tiles_of(extent, std::min(b.limits().max_matmul_extent,
                                   b.limits().max_matmul_rows));
}

/// Parts of a sum, which may not fit into 16 bits where the sum does.
MatrixOperand upcast(GraphBuilder& b, MatrixOperand operand) {
  if (b.compute_type() != DataType::Float32) {
    operand.tensor = b.cast(operand.tensor, DataType::Float32);
  }
  return operand;
}

T product_of_matrices(GraphBuilder& b, const MatrixOperand& x,
                      const MatrixOperand& y) {
  return [b.graph() matrixMultiplicationWithPrimaryTensor:oriented(b, x)
                                          secondaryTensor:oriented(b, y)
                                                     name:b.name()];
}

/// The sum of the products of the tiles of the inner dimension, rounded once.
T sum_of_products(GraphBuilder& b, const MatrixOperand& x,
                  const MatrixOperand& y) {
  const int x_axis = x.inner_axis(true), y_axis = y.inner_axis(false);
  const std::vector<Tile> inner = tiles(b, x.shape[x_axis]);
  if (inner.size() == 1) return product_of_matrices(b, x, y);
  T sum = nil;
  for (const Tile& tile : inner) {
    T part = product_of_matrices(b, upcast(b, cut(b, x, x_axis, tile)),
                                 upcast(b, cut(b, y, y_axis, tile)));
    sum = sum ? b.add(sum, part) : part;
  }
  const DataType type = b.compute_type();
  return type == DataType::Float32 ? sum : b.cast(sum, type);
}

/// The products of the tiles of the rows of x and the columns of y.
T product_of_tiles(GraphBuilder& b, const MatrixOperand& x,
                   const MatrixOperand& y) {
  const int x_axis = x.outer_axis(true), y_axis = y.outer_axis(false);
  const std::int64_t longest = b.limits().max_matmul_rows;
  NSMutableArray<MPSGraphTensor*>* rows = [NSMutableArray array];
  for (const Tile& row_tile : tiles_of(x.shape[x_axis], longest)) {
    const MatrixOperand x_rows = cut(b, x, x_axis, row_tile);
    NSMutableArray<MPSGraphTensor*>* columns = [NSMutableArray array];
    for (const Tile& tile : tiles_of(y.shape[y_axis], longest)) {
      [columns addObject:sum_of_products(b, x_rows, cut(b, y, y_axis, tile))];
    }
    [rows addObject:concatenate(b, columns, x.shape.rank() - 1)];
  }
  return concatenate(b, rows, x.shape.rank() - 2);
}

/// The matrices of the tile; one that serves all stays.
MatrixOperand matrices(GraphBuilder& b, const MatrixOperand& operand,
                       const Tile& tile) {
  return operand.shape[0] == 1 ? operand : cut(b, operand, 0, tile);
}

}  // namespace

T product(GraphBuilder& b, const MatrixOperand& x, const MatrixOperand& y,
          std::int64_t num_matrices) {
  if (num_matrices == 1) return product_of_tiles(b, x, y);
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  for (const Tile& tile : tiles(b, num_matrices)) {
    [parts addObject:product_of_tiles(b, matrices(b, x, tile),
                                      matrices(b, y, tile))];
  }
  return concatenate(b, parts, 0);
}

T matrix_product(GraphBuilder& b, T x, T y) {
  return product(b, {x, shape_of(x), false}, {y, shape_of(y), false}, 1);
}

}  // namespace traingraph::metal
