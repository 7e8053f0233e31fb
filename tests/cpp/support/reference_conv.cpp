// SPDX-License-Identifier: MIT
// Reference of the conv family. All three ops are one loop over the products
// x * w that belong to y; they differ in which of the three they sum into.
#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

std::int64_t extent(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                    std::int64_t dilation, std::int64_t padding) {
  return (in + padding - ((kernel - 1) * dilation + 1)) / stride + 1;
}

/// Calls visit(position in x, in weights, in y) for every product.
template <class Attrs, class Visit>
void for_each_product(const Attrs& attrs, const Shape& x, const Shape& weights,
                      const Shape& y, Visit visit) {
  const std::int64_t outputs_per_group = weights[0] / attrs.groups;
  for_each_position(y, [&](const Shape& at) {
    const std::int64_t group = at[1] / outputs_per_group;
    for (std::int64_t c = 0; c < weights[1]; ++c) {
      for (std::int64_t u = 0; u < weights[2]; ++u) {
        for (std::int64_t v = 0; v < weights[3]; ++v) {
          const std::int64_t row = at[2] * attrs.strides[0] +
                                   u * attrs.dilation_rates[0] -
                                   attrs.padding[0];
          const std::int64_t column = at[3] * attrs.strides[1] +
                                      v * attrs.dilation_rates[1] -
                                      attrs.padding[2];
          if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
          visit(Shape{at[0], group * weights[1] + c, row, column},
                Shape{at[1], c, u, v}, at);
        }
      }
    }
  });
}

}  // namespace

RefTensors reference_convolution_2d(const Convolution2dAttrs& attrs,
                                    RefTensors& in) {
  const RefTensor& x = in[0];
  const RefTensor& weights = in[1];
  const RefTensor& bias = in[2];
  Shape shape{x.shape[0], weights.shape[0], 0, 0};
  for (int i = 0; i < 2; ++i) {
    shape[2 + i] = extent(x.shape[2 + i], weights.shape[2 + i],
                          attrs.strides[i], attrs.dilation_rates[i],
                          attrs.padding[2 * i] + attrs.padding[2 * i + 1]);
  }
  RefTensor y = zeros(shape);
  if (bias.is_present()) {
    for_each_position(shape, [&](const Shape& at) { y(at) = bias({at[1]}); });
  }
  for_each_product(attrs, x.shape, weights.shape, shape,
                   [&](const Shape& from, const Shape& by, const Shape& to) {
                     y(to) += x(from) * weights(by);
                   });
  return {y};
}

RefTensors reference_convolution_2d_input_gradient(
    const Convolution2dGradientAttrs& attrs, RefTensors& in) {
  const RefTensor& gradient = in[0];
  const RefTensor& weights = in[1];
  RefTensor dx = zeros(attrs.shape);
  for_each_product(attrs, dx.shape, weights.shape, gradient.shape,
                   [&](const Shape& to, const Shape& by, const Shape& from) {
                     dx(to) += gradient(from) * weights(by);
                   });
  return {dx};
}

RefTensors reference_convolution_2d_weights_gradient(
    const Convolution2dGradientAttrs& attrs, RefTensors& in) {
  const RefTensor& gradient = in[0];
  const RefTensor& x = in[1];
  RefTensor dweights = zeros(attrs.shape);
  for_each_product(attrs, x.shape, dweights.shape, gradient.shape,
                   [&](const Shape& by, const Shape& to, const Shape& from) {
                     dweights(to) += gradient(from) * x(by);
                   });
  return {dweights};
}

}  // namespace traingraph::testing
