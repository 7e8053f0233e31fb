// SPDX-License-Identifier: MIT
// Reference of the pool family.
#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

template <class Attrs>
Shape pooled(const Attrs& attrs, const Shape& x) {
  Shape y = x;
  for (int i = 0; i < 2; ++i) {
    const std::int64_t span =
        (attrs.kernel_size[i] - 1) * attrs.dilation_rates[i] + 1;
    const std::int64_t padded =
        x[2 + i] + attrs.padding[2 * i] + attrs.padding[2 * i + 1];
    y[2 + i] = (padded - span) / attrs.strides[i] + 1;
  }
  return y;
}

/// Calls visit(position) for the samples inside x of the window at `at`.
template <class Attrs, class Visit>
void for_each_sample(const Attrs& attrs, const Shape& x, const Shape& at,
                     Visit visit) {
  for (std::int64_t u = 0; u < attrs.kernel_size[0]; ++u) {
    for (std::int64_t v = 0; v < attrs.kernel_size[1]; ++v) {
      const std::int64_t row = at[2] * attrs.strides[0] +
                               u * attrs.dilation_rates[0] - attrs.padding[0];
      const std::int64_t column = at[3] * attrs.strides[1] +
                                  v * attrs.dilation_rates[1] -
                                  attrs.padding[2];
      if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
      visit(Shape{at[0], at[1], row, column});
    }
  }
}

/// Where the first largest sample of the window is.
Shape winner(const Pool2dAttrs& attrs, const RefTensor& x, const Shape& at) {
  Shape best;
  for_each_sample(attrs, x.shape, at, [&](const Shape& sample) {
    if (best.empty() || x(sample) > x(best)) best = sample;
  });
  return best;
}

/// What the sum over a window is divided by.
template <class Attrs>
double divisor(const Attrs& attrs, const Shape& x, const Shape& at) {
  if (attrs.count_includes_padding) {
    return static_cast<double>(attrs.kernel_size[0] * attrs.kernel_size[1]);
  }
  double count = 0;
  for_each_sample(attrs, x, at, [&](const Shape&) { count += 1; });
  return count;
}

}  // namespace

RefTensors reference_max_pool_2d(const Pool2dAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  RefTensor y = zeros(pooled(attrs, x.shape));
  RefTensor state = y;
  for_each_position(y.shape, [&](const Shape& at) {
    const Shape best = winner(attrs, x, at);
    y(at) = x(best);
    state(at) = static_cast<double>(best[2] * x.shape[3] + best[3]);
  });
  return {y, state};
}

RefTensors reference_max_pool_2d_gradient(const Pool2dAttrs& attrs,
                                          RefTensors& in) {
  const RefTensor& gradient = in[0];
  const RefTensor& x = in[1];
  RefTensor dx = zeros(x.shape);
  for_each_position(gradient.shape, [&](const Shape& at) {
    dx(winner(attrs, x, at)) += gradient(at);
  });
  return {dx};
}

RefTensors reference_average_pool_2d(const AveragePool2dAttrs& attrs,
                                     RefTensors& in) {
  const RefTensor& x = in[0];
  RefTensor y = zeros(pooled(attrs, x.shape));
  for_each_position(y.shape, [&](const Shape& at) {
    double sum = 0;
    for_each_sample(attrs, x.shape, at,
                    [&](const Shape& sample) { sum += x(sample); });
    y(at) = sum / divisor(attrs, x.shape, at);
  });
  return {y};
}

RefTensors reference_average_pool_2d_gradient(
    const AveragePool2dGradientAttrs& attrs, RefTensors& in) {
  const RefTensor& gradient = in[0];
  RefTensor dx = zeros(attrs.shape);
  for_each_position(gradient.shape, [&](const Shape& at) {
    const double share = gradient(at) / divisor(attrs, dx.shape, at);
    for_each_sample(attrs, dx.shape, at,
                    [&](const Shape& sample) { dx(sample) += share; });
  });
  return {dx};
}

}  // namespace traingraph::testing
