// SPDX-License-Identifier: MIT
// Gradients of depthwise weights, for filters that engines have no code for, in
// the layouts that convolutions before and behind them leave.
#include <gtest/gtest.h>

#include "cpu/kernel_case.h"

namespace traingraph::testing {
namespace {

struct Filter {
  std::int64_t images, channels, height, width;
  Pair kernel, strides, dilation_rates;
  Padding padding;  // top, bottom, left, right

  std::int64_t out(int axis) const {
    const std::int64_t in = axis == 0 ? height : width;
    const std::int64_t span = (kernel[axis] - 1) * dilation_rates[axis] + 1;
    return (in + padding[2 * axis] + padding[2 * axis + 1] - span) /
               strides[axis] +
           1;
  }
  Shape x() const { return {images, channels, height, width}; }
  Shape y() const { return {images, channels, out(0), out(1)}; }
  Shape weights() const { return {channels, 1, kernel[0], kernel[1]}; }
};

std::vector<double> expected_gradient(const Filter& f, const Floats& gradient,
                                      const Floats& x) {
  std::vector<double> sums(f.weights().num_elements());
  std::size_t at = 0;
  for (std::int64_t n = 0; n < f.images; ++n) {
    for (std::int64_t c = 0; c < f.channels; ++c) {
      for (std::int64_t row = 0; row < f.out(0); ++row) {
        for (std::int64_t column = 0; column < f.out(1); ++column, ++at) {
          for (std::int64_t i = 0; i < f.kernel[0]; ++i) {
            for (std::int64_t j = 0; j < f.kernel[1]; ++j) {
              const std::int64_t h =
                  row * f.strides[0] + i * f.dilation_rates[0] - f.padding[0];
              const std::int64_t w = column * f.strides[1] +
                                     j * f.dilation_rates[1] - f.padding[2];
              if (h < 0 || w < 0 || h >= f.height || w >= f.width) continue;
              const std::int64_t from =
                  ((n * f.channels + c) * f.height + h) * f.width + w;
              sums[(c * f.kernel[0] + i) * f.kernel[1] + j] +=
                  double{gradient[at]} * x[from];
            }
          }
        }
      }
    }
  }
  return sums;
}

class DepthwiseGradient : public ::testing::TestWithParam<Filter> {};

TEST_P(DepthwiseGradient, IsTheSumOfItsProducts) {
  const Filter& f = GetParam();
  for (const bool is_between : {false, true}) {
    Case test;
    ValueId x = test.input(f.x()), gradient = test.input(f.y());
    if (is_between) {
      const ValueId w = test.input({f.channels, f.channels, 1, 1});
      const auto mixed = [&](ValueId value) {
        return test.program.append_one(OpKind::Convolution2d,
                                       Convolution2dAttrs{}, {value, w});
      };
      x = mixed(x);
      gradient = mixed(gradient);
    }
    const Convolution2dGradientAttrs attrs{f.strides, f.dilation_rates,
                                           f.padding, f.channels, f.weights()};
    const ValueId dw = test.program.append_one(
        OpKind::Convolution2dWeightsGradient, attrs, {gradient, x});
    const ValueId db = test.program.append_one(
        OpKind::Reduce,
        ReduceAttrs{.type = ReductionType::Sum, .axes = {0, 2, 3}}, {gradient});
    const ProgramRun run = test.run({x, gradient, dw, db});
    expect_near(run.get(dw),
                expected_gradient(f, run.get(gradient), run.get(x)), 1e-4);
    std::vector<double> sums(f.channels);
    const Floats dy = run.get(gradient);
    const std::size_t size = f.out(0) * f.out(1);
    for (std::size_t i = 0; i < dy.size(); ++i) {
      sums[i / size % f.channels] += dy[i];
    }
    expect_near(run.get(db), sums, 1e-4);
  }
}

// Terms are below 1 in size, or 8 behind a sum of 64 of them.
INSTANTIATE_TEST_SUITE_P(
    Filters, DepthwiseGradient,
    ::testing::Values(
        Filter{3, 48, 9, 11, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
        Filter{2, 20, 12, 7, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
        Filter{1, 8, 13, 12, {4, 2}, {2, 1}, {2, 3}, {3, 0, 1, 2}},
        Filter{70, 17, 4, 5, {9, 5}, {1, 1}, {1, 1}, {6, 6, 4, 4}},
        Filter{2, 64, 5, 40, {1, 9}, {1, 3}, {1, 1}, {0, 0, 4, 4}},
        Filter{2, 33, 6, 6, {5, 5}, {1, 1}, {5, 5}, {10, 10, 10, 10}}));

}  // namespace
}  // namespace traingraph::testing
