// SPDX-License-Identifier: MIT
#import "metal/ops/matmul_product.h"

#import "metal/ops/layout_moves.h"
#import "metal/tiles.h"

namespace traingraph::metal {
namespace {

MatrixOperand cut(GraphBuilder& b, MatrixOperand operand, int axis,
                  const Tile& tile) {
  if (operand.shape[axis] == tile.length) return operand;
  operand.tensor = slice_axis(b, operand.tensor, axis, tile.start, tile.length);
  operand.shape[axis] = tile.length;
  return operand;
}

T oriented(GraphBuilder& b, const MatrixOperand& operand) {
  return operand.is_transposed ? b.transpose_matrix(operand.tensor)
                               : operand.tensor;
}

std::vector<Tile> tiles(const GraphBuilder& b, std::int64_t extent) {
  return tiles_of(extent, b.limits().max_matmul_extent);
}

/// The sum of the products of the tiles of the inner dimension.
T product_of_tiles(GraphBuilder& b, const MatrixOperand& x,
                   const MatrixOperand& y) {
  const int x_axis = x.inner_axis(true), y_axis = y.inner_axis(false);
  T sum = nil;
  for (const Tile& tile : tiles(b, x.shape[x_axis])) {
    const T part = [b.graph()
        matrixMultiplicationWithPrimaryTensor:oriented(b,
                                                       cut(b, x, x_axis, tile))
                              secondaryTensor:oriented(b,
                                                       cut(b, y, y_axis, tile))
                                         name:b.name()];
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
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

}  // namespace traingraph::metal
