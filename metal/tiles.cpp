// SPDX-License-Identifier: MIT
#include "metal/tiles.h"

#include <algorithm>
#include <span>

namespace traingraph::metal {
namespace {

Shape leading_axes(const Shape& shape) {
  return Shape(std::span(shape.begin(), shape.end() - 2));
}

/// Leading axes of the result; the shape rule knows that they fit.
Shape broadcast_axes(const Shape& x, const Shape& y) {
  Shape result = x.rank() > y.rank() ? x : y;
  const Shape& other = x.rank() > y.rank() ? y : x;
  const int missing = result.rank() - other.rank();
  for (int axis = 0; axis < other.rank(); ++axis) {
    std::int64_t& size = result[missing + axis];
    size = std::max(size, other[axis]);
  }
  return result;
}

Shape with_matrix_of(Shape leading, const Shape& operand) {
  leading.push_back(operand[operand.rank() - 2]);
  leading.push_back(operand.back());
  return leading;
}

/// One matrix serves all; anything else is repeated to all of them.
Shape full_shape(const Shape& operand, const Shape& batch) {
  const std::int64_t count = leading_axes(operand).num_elements();
  if (count == 1 || count == batch.num_elements()) return operand;
  return with_matrix_of(batch, operand);
}

Shape fold_operand(const Shape& full, std::int64_t num_matrices) {
  if (num_matrices == 1) return with_matrix_of({}, full);
  return with_matrix_of({leading_axes(full).num_elements()}, full);
}

}  // namespace

std::int64_t FoldedProduct::num_matrices() const {
  return x.rank() == 2 ? 1 : std::max(x[0], y[0]);
}

FoldedProduct fold_product(const Shape& x, bool transposes_x, const Shape& y) {
  if (!transposes_x && leading_axes(y).num_elements() == 1) {
    const std::int64_t inner = x.back();
    return {x, y, {x.num_elements() / inner, inner}, fold_operand(y, 1)};
  }
  const Shape batch = broadcast_axes(leading_axes(x), leading_axes(y));
  const std::int64_t num_matrices = batch.num_elements();
  const Shape x_full = full_shape(x, batch), y_full = full_shape(y, batch);
  return {x_full, y_full, fold_operand(x_full, num_matrices),
          fold_operand(y_full, num_matrices)};
}

std::vector<Tile> tiles_of(std::int64_t extent, std::int64_t longest) {
  const std::int64_t count = (extent + longest - 1) / longest;
  std::vector<Tile> tiles;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = extent * i / count;
    tiles.push_back({start, extent * (i + 1) / count - start});
  }
  return tiles;
}

}  // namespace traingraph::metal
