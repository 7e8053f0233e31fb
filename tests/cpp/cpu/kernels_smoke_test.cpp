// SPDX-License-Identifier: MIT
// Kernels against naive loops in double precision, and the lowering's rules on
// layouts: reorders once per layout, never a stale copy of a variable.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "cpu/kernel_case.h"

namespace traingraph::testing {
namespace {

// ---- convolution

struct ConvCase {
  Shape x, weights;
  Convolution2dAttrs attrs;
  Shape y() const {
    Shape shape{x[0], weights[0], 0, 0};
    for (int i = 0; i < 2; ++i) {
      const auto span = (weights[2 + i] - 1) * attrs.dilation_rates[i] + 1;
      shape[2 + i] =
          (x[2 + i] + attrs.padding[2 * i] + attrs.padding[2 * i + 1] - span) /
              attrs.strides[i] +
          1;
    }
    return shape;
  }
  Convolution2dGradientAttrs gradient_attrs(const Shape& shape) const {
    return {attrs.strides, attrs.dilation_rates, attrs.padding, attrs.groups,
            shape};
  }
};

/// Calls visit(x index, weight index, y index) for every product.
void for_products(const ConvCase& c,
                  const std::function<void(std::int64_t, std::int64_t,
                                           std::int64_t)>& visit) {
  const Shape y = c.y(), &x = c.x, &w = c.weights;
  const auto out_per_group = w[0] / c.attrs.groups;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t o = 0; o < y[1]; ++o)
      for (std::int64_t i = 0; i < y[2]; ++i)
        for (std::int64_t j = 0; j < y[3]; ++j)
          for (std::int64_t k = 0; k < w[1]; ++k)
            for (std::int64_t p = 0; p < w[2]; ++p)
              for (std::int64_t q = 0; q < w[3]; ++q) {
                const auto r = i * c.attrs.strides[0] +
                               p * c.attrs.dilation_rates[0] -
                               c.attrs.padding[0];
                const auto s = j * c.attrs.strides[1] +
                               q * c.attrs.dilation_rates[1] -
                               c.attrs.padding[2];
                if (r < 0 || r >= x[2] || s < 0 || s >= x[3]) continue;
                const auto channel = o / out_per_group * w[1] + k;
                visit(((n * x[1] + channel) * x[2] + r) * x[3] + s,
                      ((o * w[1] + k) * w[2] + p) * w[3] + q,
                      ((n * y[1] + o) * y[2] + i) * y[3] + j);
              }
}

class ConvolutionKernel : public ::testing::TestWithParam<ConvCase> {};

TEST_P(ConvolutionKernel, ForwardAndGradientsMatchLoops) {
  const ConvCase c = GetParam();
  Case test;
  const ValueId x = test.input(c.x), w = test.input(c.weights, Role::Variable);
  const ValueId b = test.input({c.weights[0]}, Role::Variable);
  const ValueId g = test.input(c.y());
  const ValueId y =
      test.program.append_one(OpKind::Convolution2d, c.attrs, {x, w, b});
  test.program.position.phase = Phase::Gradient;
  const ValueId dx = test.program.append_one(OpKind::Convolution2dInputGradient,
                                             c.gradient_attrs(c.x), {g, w});
  const ValueId dw =
      test.program.append_one(OpKind::Convolution2dWeightsGradient,
                              c.gradient_attrs(c.weights), {g, x});
  const ProgramRun run = test.run({y, dx, dw});

  const Shape y_shape = c.y();
  std::vector<double> y_want(y_shape.num_elements()),
      dx_want(c.x.num_elements()), dw_want(c.weights.num_elements());
  const auto plane = y_shape[2] * y_shape[3];
  for (std::size_t i = 0; i < y_want.size(); ++i) {
    y_want[i] = test.values(2)[i / plane % y_shape[1]];
  }
  for_products(c, [&](auto xi, auto wi, auto yi) {
    y_want[yi] += double{test.values(0)[xi]} * test.values(1)[wi];
    dx_want[xi] += double{test.values(3)[yi]} * test.values(1)[wi];
    dw_want[wi] += double{test.values(3)[yi]} * test.values(0)[xi];
  });
  expect_near(run.get(y), y_want);
  expect_near(run.get(dx), dx_want);
  expect_near(run.get(dw), dw_want);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionKernel,
    ::testing::Values(
        ConvCase{{2, 3, 7, 9}, {5, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1, 1, 1}}},
        ConvCase{{2, 16, 8, 8}, {32, 16, 3, 3}, {{2, 2}, {1, 1}, {0, 1, 0, 1}}},
        ConvCase{{1, 20, 9, 6}, {17, 20, 2, 3}, {{1, 2}, {2, 1}, {3, 0, 1, 2}}},
        ConvCase{{2, 8, 6, 6}, {8, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1, 1, 1}, 2}},
        ConvCase{{2, 32, 6, 6}, {32, 16, 3, 3}, {{1, 1}, {1, 1}, {}, 2}},
        ConvCase{{2, 16, 6, 6}, {16, 1, 3, 3}, {{1, 1}, {1, 1}, {}, 16}},
        ConvCase{{1, 1, 4, 4}, {1, 1, 1, 1}, {}}));

// ---- matmul

struct MatMulCase {
  Shape x, y;
  MatMulAttrs attrs;
  bool has_bias = false;
};

class MatMulKernel : public ::testing::TestWithParam<MatMulCase> {};

TEST_P(MatMulKernel, MatchesLoops) {
  const MatMulCase c = GetParam();
  Case test;
  const ValueId x = test.input(c.x), y = test.input(c.y);
  const auto columns = c.attrs.transposes_y ? c.y[c.y.rank() - 2] : c.y.back();
  std::vector<ValueId> inputs{x, y};
  if (c.has_bias) inputs.push_back(test.input({columns}));
  const ValueId z = test.program.append_one(OpKind::MatMul, c.attrs, inputs);
  const ProgramRun run = test.run({z});

  const Shape shape = test.program.shape(z);
  const auto rows = shape[shape.rank() - 2];
  const auto depth = c.attrs.transposes_x ? c.x[c.x.rank() - 2] : c.x.back();
  std::vector<double> want(shape.num_elements());
  for (std::int64_t at = 0; at < shape.num_elements(); ++at) {
    const auto row = at / columns % rows, column = at % columns;
    const auto batch_of = [&](const Shape& operand) {
      std::int64_t rest = at / columns / rows, offset = 0, stride = 1;
      for (int axis = shape.rank() - 3; axis >= 0; --axis) {
        const auto index = rest % shape[axis];
        rest /= shape[axis];
        const int own = axis + operand.rank() - shape.rank();
        if (own < 0) continue;
        if (operand[own] != 1) offset += index * stride;
        stride *= operand[own];
      }
      return offset;
    };
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto xi = batch_of(c.x) * rows * depth +
                      (c.attrs.transposes_x ? k * rows + row : row * depth + k);
      const auto yi =
          batch_of(c.y) * columns * depth +
          (c.attrs.transposes_y ? column * depth + k : k * columns + column);
      sum += double{test.values(0)[xi]} * test.values(1)[yi];
    }
    want[at] = sum * c.attrs.alpha + (c.has_bias ? test.values(2)[column] : 0);
  }
  expect_near(run.get(z), want);
}

std::vector<MatMulCase> matmul_cases() {
  std::vector<MatMulCase> cases;
  const std::vector<std::pair<Shape, Shape>> pairs{
      {{5, 7}, {7, 3}},
      {{1, 7}, {7, 1}},
      {{6, 1}, {1, 4}},
      {{33, 65}, {65, 47}},
      {{2, 5, 7}, {7, 3}},
      {{5, 7}, {4, 7, 3}},
      {{2, 3, 4, 5}, {5, 6}},
      {{2, 3, 4, 5}, {3, 5, 6}},
      {{1, 4, 5}, {1, 5, 6}},
      {{2, 1, 4, 5}, {1, 3, 5, 6}},
      {{2, 3, 4, 5}, {2, 3, 5, 6}},
      {{2, 3, 1, 5}, {2, 1, 5, 1}}};
  for (const auto& [x, y] : pairs) {
    for (int flags = 0; flags < 16; ++flags) {
      MatMulCase c{
          x,
          y,
          {.transposes_x = (flags & 1) != 0, .transposes_y = (flags & 2) != 0},
          (flags & 4) != 0};
      if (flags & 8) c.attrs.alpha = 0.5f;
      const auto transpose = [](Shape& shape) {
        std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
      };
      if (c.attrs.transposes_x) transpose(c.x);
      if (c.attrs.transposes_y) transpose(c.y);
      cases.push_back(c);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatMulKernel,
                         ::testing::ValuesIn(matmul_cases()));

// ---- pooling, in plain layout and in the layout a convolution left

struct PoolCase {
  Shape x;
  Pool2dAttrs attrs;
  bool counts_padding = false;
};

class PoolKernel : public ::testing::TestWithParam<PoolCase> {};

TEST_P(PoolKernel, ForwardAndGradientsMatchLoops) {
  const PoolCase c = GetParam();
  const auto& [kernel, strides, dilations, padding] = c.attrs;
  Case test;
  const ValueId image = test.input(c.x);
  const ValueId w = test.input({c.x[1], c.x[1], 1, 1});
  for (const bool after_convolution : {false, true}) {
    Program& program = test.program;
    program.position.phase = Phase::Forward;
    const ValueId x = after_convolution
                          ? program.append_one(OpKind::Convolution2d,
                                               Convolution2dAttrs{}, {image, w})
                          : image;
    const AveragePool2dAttrs average{kernel, strides, dilations, padding,
                                     c.counts_padding};
    const auto max = program.append(OpKind::MaxPool2d, c.attrs, {x});
    const ValueId mean =
        program.append_one(OpKind::AveragePool2d, average, {x});
    program.position.phase = Phase::Gradient;
    const ValueId g = test.input(program.shape(mean));
    const auto g_index = static_cast<int>(test.data.size()) - 1;
    const ValueId dmax =
        program.append_one(OpKind::MaxPool2dGradient, c.attrs, {g, x, max[1]});
    const ValueId dmean = program.append_one(
        OpKind::AveragePool2dGradient,
        AveragePool2dGradientAttrs{kernel, strides, dilations, padding,
                                   c.counts_padding, c.x},
        {g});
    const ProgramRun run = test.run({x, max[0], mean, dmax, dmean});

    const Shape y = program.shape(mean);
    const Floats source = run.get(x);
    std::vector<double> max_want, mean_want, dmax_want(source.size()),
        dmean_want(source.size());
    for (std::int64_t at = 0; at < y.num_elements(); ++at) {
      const auto row = at / y[3] % y[2], column = at % y[3];
      const auto base = at / (y[2] * y[3]) * c.x[2] * c.x[3];
      std::vector<std::int64_t> window;
      for (std::int64_t p = 0; p < kernel[0]; ++p) {
        for (std::int64_t q = 0; q < kernel[1]; ++q) {
          const auto i = row * strides[0] + p * dilations[0] - padding[0];
          const auto j = column * strides[1] + q * dilations[1] - padding[2];
          if (i < 0 || i >= c.x[2] || j < 0 || j >= c.x[3]) continue;
          window.push_back(base + i * c.x[3] + j);
        }
      }
      const float gradient = test.values(g_index)[at];
      double sum = 0, best = -std::numeric_limits<double>::infinity();
      std::int64_t winner = -1;
      const double divisor = c.counts_padding
                                 ? static_cast<double>(kernel[0] * kernel[1])
                                 : std::max<double>(1, window.size());
      for (const auto index : window) {
        sum += source[index];
        if (source[index] > best) best = source[winner = index];
        dmean_want[index] += gradient / divisor;
      }
      if (winner >= 0) dmax_want[winner] += gradient;
      max_want.push_back(best);
      mean_want.push_back(sum / divisor);
    }
    for (std::size_t i = 0; i < max_want.size(); ++i) {
      ASSERT_EQ(run.get(max[0])[i], max_want[i]);
    }
    expect_near(run.get(mean), mean_want);
    expect_near(run.get(dmax), dmax_want);
    expect_near(run.get(dmean), dmean_want);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PoolKernel,
    ::testing::Values(
        PoolCase{{2, 3, 6, 6}, {{2, 2}, {2, 2}}},
        PoolCase{{2, 16, 7, 5}, {{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}},
        PoolCase{{2, 17, 7, 5}, {{3, 2}, {1, 2}, {1, 1}, {2, 1, 0, 1}}, true},
        PoolCase{{1, 16, 9, 9}, {{2, 3}, {1, 1}, {2, 3}, {1, 0, 2, 1}}},
        PoolCase{{1, 16, 5, 5}, {{2, 2}, {4, 4}, {1, 1}, {0, 2, 0, 2}}},
        PoolCase{{2, 16, 5, 5}, {{2, 2}, {1, 1}, {3, 3}, {3, 3, 3, 3}}},
        PoolCase{{1, 2, 5, 5}, {{2, 2}, {4, 4}, {1, 1}, {0, 2, 0, 2}}, true},
        PoolCase{{1, 4, 1, 1}, {{1, 1}, {1, 1}}}));

// Behind a convolution the image has blocked channels, 5 of them padded.
class MaxPoolOf : public ::testing::TestWithParam<float> {};

TEST_P(MaxPoolOf, NumbersThatAreNotFinite) {
  for (const std::int64_t channels : {5, 16}) {
    for (const bool has_state : {false, true}) {
      Case test;
      const Shape shape{2, channels, 6, 5};
      const ValueId image = test.input(shape);
      const ValueId weights = test.input({channels, channels, 1, 1});
      Floats& pixels = test.data[0].second;
      std::fill(pixels.begin() + 30, pixels.begin() + 50, -INFINITY);
      for (std::size_t i = 0; i < pixels.size(); i += 37) {
        pixels[i] = GetParam();
      }
      Program& program = test.program;
      const ValueId x = program.append_one(
          OpKind::Convolution2d, Convolution2dAttrs{}, {image, weights});
      const Pool2dAttrs attrs{{3, 2}, {2, 1}, {1, 1}, {1, 1, 0, 1}};
      std::vector<ValueId> kept{x, image};
      for (const ValueId source : {x, image}) {
        const auto y = program.append(OpKind::MaxPool2d, attrs, {source});
        kept.push_back(y[0]);
        if (!has_state) continue;
        const ValueId g = test.input(program.shape(y[0]));
        kept.push_back(program.append_one(OpKind::MaxPool2dGradient, attrs,
                                          {g, source, y[1]}));
      }
      const ProgramRun run = test.run(kept);
      for (int i : {0, 1}) {
        const Floats from = i == 0 ? run.get(x) : test.values(0);
        const Floats got = run.get(kept[2 + i * (has_state ? 2 : 1)]);
        ASSERT_EQ(got.size(), 2 * channels * 3 * 5u);
        for (std::int64_t at = 0; at < std::int64_t(got.size()); ++at) {
          const std::int64_t plane = at / 15, row = at / 5 % 3, column = at % 5;
          float want = -std::numeric_limits<float>::infinity();
          for (std::int64_t h = row * 2 - 1; h < row * 2 + 2; ++h) {
            for (std::int64_t w = column; w < column + 2; ++w) {
              if (h < 0 || h > 5 || w > 4) continue;
              const float sample = from[plane * 30 + h * 5 + w];
              if (!(sample <= want) && !std::isnan(want)) want = sample;
            }
          }
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got[at]) : got[at] == want)
              << "element " << at << ": expected " << want << ", got "
              << got[at];
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Values, MaxPoolOf,
                         ::testing::Values(NAN, INFINITY, -INFINITY));

TEST(MaxPoolKernel, TieGoesToTheFirstInTheWindow) {
  for (const std::int64_t channels : {1, 16}) {
    Case test;
    const ValueId x = test.input({1, channels, 2, 2});
    const ValueId g = test.input({1, channels, 1, 1});
    std::fill(test.data[0].second.begin(), test.data[0].second.end(), 1.0f);
    const Pool2dAttrs attrs{{2, 2}};
    const auto max = test.program.append(OpKind::MaxPool2d, attrs, {x});
    const ValueId dx = test.program.append_one(OpKind::MaxPool2dGradient, attrs,
                                               {g, x, max[1]});
    const Floats got = test.run({dx}).get(dx);
    for (std::int64_t c = 0; c < channels; ++c) {
      EXPECT_EQ(got[4 * c], test.values(1)[c]);
      EXPECT_EQ(got[4 * c + 1], 0);
      EXPECT_EQ(got[4 * c + 3], 0);
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
