// SPDX-License-Identifier: MIT
// Cases of convolution; each one also runs as the two gradient ops, which are
// ops in their own right (the input gradient is transposed convolution).
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

struct Convolution {
  Shape x, weights;
  Convolution2dAttrs attrs = {};
  int max_differences = 12;
};

/// The result's size along height (0) or width (1); 0: the kernel is too big.
std::int64_t out_size(const Convolution& c, int i) {
  const std::int64_t span =
      (c.weights[2 + i] - 1) * c.attrs.dilation_rates[i] + 1;
  const std::int64_t room =
      c.x[2 + i] + c.attrs.padding[2 * i] + c.attrs.padding[2 * i + 1] - span;
  return room < 0 ? 0 : room / c.attrs.strides[i] + 1;
}

void add(OpCases& cases, const Convolution& c, bool has_bias) {
  const Convolution2dAttrs& a = c.attrs;
  const Shape y{c.x[0], c.weights[0], out_size(c, 0), out_size(c, 1)};
  const std::int64_t depth = c.weights.num_elements() / c.weights[0];
  OpCase forward{.op = OpKind::Convolution2d,
                 .attrs = a,
                 .inputs = {{c.x}, {c.weights}},
                 .gradients = {0, 1},
                 .tolerance = sum_tolerance(depth),
                 .reason = kLongSum,
                 .max_differences = c.max_differences};
  if (has_bias) {
    forward.inputs.push_back({{c.weights[0]}});
    forward.gradients.push_back(2);
  }
  cases.push_back(forward);
  const auto to = [&](const Shape& shape) {
    return Convolution2dGradientAttrs{a.strides, a.dilation_rates, a.padding,
                                      a.groups, shape};
  };
  cases.push_back({.op = OpKind::Convolution2dInputGradient,
                   .attrs = to(c.x),
                   .inputs = {{y}, {c.weights}},
                   .gradients = {0, 1},
                   .tolerance = sum_tolerance(c.weights.num_elements() /
                                              (c.weights[1] * a.groups)),
                   .reason = kLongSum,
                   .max_differences = c.max_differences});
  cases.push_back({.op = OpKind::Convolution2dWeightsGradient,
                   .attrs = to(c.weights),
                   .inputs = {{y}, {c.x}},
                   .gradients = {0, 1},
                   .tolerance = 2 * sum_tolerance(y.num_elements() / y[1]),
                   .reason = kLongSum,
                   .max_differences = c.max_differences});
}

std::vector<Convolution> convolutions() {
  return {
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{2, 3, 5, 7}, {4, 3, 3, 3}},
      {{2, 3, 5, 7}, {4, 3, 1, 1}},
      {{1, 5, 7, 1}, {3, 5, 3, 1}},
      {{2, 2, 6, 5}, {3, 2, 2, 4}},
      // Same: odd and even kernels, which need one more behind.
      {{2, 3, 5, 7}, {4, 3, 3, 3}, {.padding = {1, 1, 1, 1}}},
      {{2, 3, 5, 7}, {4, 3, 2, 4}, {.padding = {0, 1, 1, 2}}},
      {{2, 2, 7, 8},
       {3, 2, 3, 3},
       {.strides = {2, 2}, .padding = {1, 1, 0, 1}}},
      // Padding on one side only, and wider than the kernel.
      {{1, 2, 5, 5}, {3, 2, 3, 3}, {.padding = {2, 0, 0, 1}}},
      {{1, 2, 3, 3}, {2, 2, 2, 2}, {.padding = {3, 1, 0, 4}}},
      // Taller than the image, which padding makes up for.
      {{1, 1, 2, 5}, {2, 1, 4, 2}, {.padding = {1, 1, 0, 0}}},
      {{2, 3, 1, 1}, {4, 3, 3, 3}, {.padding = {1, 1, 1, 1}}},
      // Strides larger than the kernel; samples that no window reads.
      {{2, 2, 9, 8}, {3, 2, 2, 2}, {.strides = {3, 4}}},
      {{1, 3, 7, 7}, {2, 3, 1, 1}, {.strides = {2, 3}}},
      {{2, 2, 8, 7}, {3, 2, 3, 2}, {.strides = {1, 2}}},
      // Dilation.
      {{2, 2, 7, 9}, {3, 2, 3, 3}, {.dilation_rates = {2, 3}}},
      {{1, 3, 6, 6},
       {5, 3, 2, 3},
       {.strides = {2, 1}, .dilation_rates = {3, 2}, .padding = {1, 2, 2, 0}}},
      // Groups and depthwise, with and without a channel multiplier.
      {{2, 6, 5, 5}, {9, 2, 3, 3}, {.groups = 3}},
      {{1, 4, 5, 6}, {2, 2, 2, 3}, {.padding = {1, 0, 1, 1}, .groups = 2}},
      {{2, 5, 6, 6}, {5, 1, 3, 3}, {.padding = {1, 1, 1, 1}, .groups = 5}},
      {{1, 3, 6, 6},
       {6, 1, 3, 3},
       {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .groups = 3}},
      {{2, 8, 5, 5}, {8, 1, 3, 3}, {.dilation_rates = {2, 1}, .groups = 8}},
      // Channels that blocks of 8 and 16 divide, and do not.
      {{1, 16, 6, 6}, {16, 16, 3, 3}, {.padding = {1, 1, 1, 1}}, 3},
      {{1, 17, 5, 5}, {19, 17, 3, 3}, {.padding = {1, 1, 1, 1}}, 3},
      {{2, 16, 8, 8},
       {32, 16, 3, 3},
       {.strides = {2, 2}, .padding = {0, 1, 0, 1}},
       3},
      {{1, 20, 9, 6},
       {17, 20, 2, 3},
       {.strides = {1, 2}, .dilation_rates = {2, 1}, .padding = {3, 0, 1, 2}},
       3},
      {{1, 32, 5, 5},
       {32, 16, 3, 3},
       {.padding = {1, 1, 1, 1}, .groups = 2},
       3},
      {{1, 24, 5, 5},
       {24, 1, 3, 3},
       {.padding = {1, 1, 1, 1}, .groups = 24},
       6},
      {{4, 3, 13, 11},
       {8, 3, 5, 5},
       {.strides = {2, 2}, .padding = {2, 2, 2, 2}},
       3},
      {{3, 1, 14, 14}, {8, 1, 3, 3}, {.padding = {1, 1, 1, 1}}, 3},
      // Depthwise filters that are large.
      {{3, 20, 9, 11},
       {20, 1, 5, 5},
       {.padding = {2, 2, 2, 2}, .groups = 20},
       3},
      {{2, 8, 12, 7},
       {8, 1, 4, 2},
       {.strides = {2, 1},
        .dilation_rates = {2, 3},
        .padding = {3, 0, 1, 2},
        .groups = 8},
       3},
      // Images that are wider than tiles of loops.
      {{1, 5, 21, 40}, {19, 5, 3, 3}, {.padding = {1, 1, 1, 1}}, 3},
      {{3, 33, 7, 18}, {34, 33, 3, 3}, {.padding = {0, 2, 1, 0}}, 3},
      {{2, 6, 9, 25}, {20, 3, 3, 4}, {.padding = {4, 0, 0, 5}, .groups = 2}, 3},
      {{2, 4, 12, 23},
       {5, 4, 3, 2},
       {.dilation_rates = {2, 3}, .padding = {1, 3, 0, 4}},
       3},
  };
}

Convolution random_convolution(Random& random) {
  while (true) {
    const std::int64_t groups = pick(random, 1, 3);
    const std::int64_t depth = pick(random, 1, 3);
    Convolution c;
    c.x = {pick(random, 1, 3), groups * depth, pick(random, 1, 8),
           pick(random, 1, 8)};
    c.weights = {groups * pick(random, 1, 3), depth, pick(random, 1, 4),
                 pick(random, 1, 4)};
    c.attrs.groups = groups;
    for (int i = 0; i < 2; ++i) {
      c.attrs.strides[i] = pick(random, 1, 3);
      c.attrs.dilation_rates[i] = pick(random, 1, 3);
    }
    for (std::int64_t& padding : c.attrs.padding) padding = pick(random, 0, 3);
    if (out_size(c, 0) > 0 && out_size(c, 1) > 0) return c;
  }
}

}  // namespace

void add_conv_cases(OpCases& cases, Random& random) {
  for (const Convolution& c : convolutions()) {
    add(cases, c, false);
    add(cases, c, true);
  }
  for (int i = 0; i < 24; ++i) {
    add(cases, random_convolution(random), i % 2 == 0);
  }
}

}  // namespace traingraph::testing
