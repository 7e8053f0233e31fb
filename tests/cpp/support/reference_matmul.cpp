// SPDX-License-Identifier: MIT
// Reference of the matmul family.
#include <utility>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// All but the last two entries of a shape or position.
Shape leading(const Shape& shape) {
  Shape result;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) {
    result.push_back(shape[axis]);
  }
  return result;
}

Shape join(Shape shape, std::int64_t row, std::int64_t column) {
  shape.push_back(row);
  shape.push_back(column);
  return shape;
}

/// Size of the last axis but one (0) or the last (1), after the transposition.
std::int64_t extent(const RefTensor& x, bool transposes, int axis) {
  return x.shape[x.shape.rank() - 2 + (transposes ? 1 - axis : axis)];
}

double read(const RefTensor& x, const Shape& batch, std::int64_t row,
            std::int64_t column, bool transposes) {
  if (transposes) std::swap(row, column);
  return x(join(source_of(leading(x.shape), batch), row, column));
}

}  // namespace

RefTensors reference_matmul(const MatMulAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  const RefTensor& y = in[1];
  const RefTensor& bias = in[2];
  const std::int64_t depth = extent(x, attrs.transposes_x, 1);
  RefTensor z = zeros(join(broadcast(leading(x.shape), leading(y.shape)),
                           extent(x, attrs.transposes_x, 0),
                           extent(y, attrs.transposes_y, 1)));
  for_each_position(z.shape, [&](const Shape& at) {
    const Shape batch = leading(at);
    const std::int64_t row = at[at.rank() - 2];
    const std::int64_t column = at.back();
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += read(x, batch, row, k, attrs.transposes_x) *
             read(y, batch, k, column, attrs.transposes_y);
    }
    z(at) = attrs.alpha * sum + (bias.is_present() ? bias({column}) : 0);
  });
  return {z};
}

}  // namespace traingraph::testing
