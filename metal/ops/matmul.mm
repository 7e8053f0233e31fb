// SPDX-License-Identifier: MIT
// Matrix product: folded to rank 3, with long inner dimensions and many
// matrices in tiles.
#import "metal/ops/layout_moves.h"
#import "metal/tiles.h"

namespace traingraph::metal {
namespace {

/// A folded operand. Axes count from the end: the matrix is the last two.
struct Operand {
  T tensor;
  Shape shape;
  bool is_transposed;

  int inner_axis(bool is_first) const {
    return shape.rank() - (is_first != is_transposed ? 1 : 2);
  }
};

Operand cut(GraphBuilder& b, Operand operand, int axis, const Tile& tile) {
  if (operand.shape[axis] == tile.length) return operand;
  operand.tensor = slice_axis(b, operand.tensor, axis, tile.start, tile.length);
  operand.shape[axis] = tile.length;
  return operand;
}

T oriented(GraphBuilder& b, const Operand& operand) {
  return operand.is_transposed ? b.transpose_matrix(operand.tensor)
                               : operand.tensor;
}

std::vector<Tile> tiles(const GraphBuilder& b, std::int64_t extent) {
  return tiles_of(extent, b.limits().max_matmul_extent);
}

/// The sum of the products of the tiles of the inner dimension.
T product(GraphBuilder& b, const Operand& x, const Operand& y) {
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

Operand fold(GraphBuilder& b, int input, const Shape& full, const Shape& shape,
             bool is_transposed) {
  T tensor = b.input(input);
  if (full != b.input_shape(input)) tensor = b.broadcast(tensor, full);
  return {b.reshape(tensor, shape), shape, is_transposed};
}

/// The matrices of the tile; one that serves all stays.
Operand matrices(GraphBuilder& b, const Operand& operand, const Tile& tile) {
  return operand.shape[0] == 1 ? operand : cut(b, operand, 0, tile);
}

}  // namespace

void lower_matmul(GraphBuilder& b) {
  const auto& attrs = b.attrs<MatMulAttrs>();
  const FoldedProduct folded =
      fold_product(b.input_shape(0), attrs.transposes_x, b.input_shape(1));
  const Operand x = fold(b, 0, folded.x_full, folded.x, attrs.transposes_x);
  const Operand y = fold(b, 1, folded.y_full, folded.y, attrs.transposes_y);
  T z = nil;
  if (folded.num_matrices() == 1) {
    z = product(b, x, y);
  } else {
    NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
    for (const Tile& tile : tiles(b, folded.num_matrices())) {
      [parts addObject:product(b, matrices(b, x, tile), matrices(b, y, tile))];
    }
    z = concatenate(b, parts, 0);
  }
  if (attrs.alpha != 1) z = b.mul(z, attrs.alpha);
  if (b.has(2)) z = b.add(z, b.input(2));
  b.set(b.reshape(z, b.result_shape()));
}

}  // namespace traingraph::metal
