// SPDX-License-Identifier: MIT
// Matrix product: folded to rank 3.
#import "metal/ops/matmul_product.h"
#import "metal/tiles.h"

namespace traingraph::metal {
namespace {

MatrixOperand fold(GraphBuilder& b, int input, const Shape& full,
                   const Shape& shape, bool is_transposed) {
  T tensor = b.input(input);
  if (full != b.input_shape(input)) tensor = b.broadcast(tensor, full);
  return {b.reshape(tensor, shape), shape, is_transposed};
}

}  // namespace

void lower_matmul(GraphBuilder& b) {
  const auto& attrs = b.attrs<MatMulAttrs>();
  const FoldedProduct folded =
      fold_product(b.input_shape(0), attrs.transposes_x, b.input_shape(1));
  const MatrixOperand x =
      fold(b, 0, folded.x_full, folded.x, attrs.transposes_x);
  const MatrixOperand y =
      fold(b, 1, folded.y_full, folded.y, attrs.transposes_y);
  T z = product(b, x, y, folded.num_matrices());
  if (attrs.alpha != 1) z = b.mul(z, attrs.alpha);
  if (b.has(2)) z = b.add(z, b.input(2));
  b.set(b.reshape(z, b.result_shape()));
}

}  // namespace traingraph::metal
