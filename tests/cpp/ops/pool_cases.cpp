// SPDX-License-Identifier: MIT
// Cases of pooling and its gradient ops.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

struct Pool {
  Shape x;
  Pool2dAttrs attrs = {};
};

std::int64_t out_size(const Pool& p, int i) {
  const std::int64_t span =
      (p.attrs.kernel_size[i] - 1) * p.attrs.dilation_rates[i] + 1;
  const std::int64_t room =
      p.x[2 + i] + p.attrs.padding[2 * i] + p.attrs.padding[2 * i + 1] - span;
  return room < 0 ? 0 : room / p.attrs.strides[i] + 1;
}

/// Does every window read a sample? Tries them all.
bool has_samples(const Pool& p, int i) {
  const std::int64_t count = out_size(p, i);
  for (std::int64_t w = 0; w < count; ++w) {
    bool found = false;
    for (std::int64_t k = 0; k < p.attrs.kernel_size[i]; ++k) {
      const std::int64_t at = w * p.attrs.strides[i] +
                              k * p.attrs.dilation_rates[i] -
                              p.attrs.padding[2 * i];
      found = found || (at >= 0 && at < p.x[2 + i]);
    }
    if (!found) return false;
  }
  return count > 0;
}

void add_max(OpCases& cases, const Pool& p, const Shape& y) {
  // Negative only, so that padding would win if it took part; then many ties.
  cases.push_back({.op = OpKind::MaxPool2d,
                   .attrs = p.attrs,
                   .inputs = {{p.x, distinct(-3, -1)}},
                   .gradients = {0},
                   .tolerance = 0});
  for (const Domain& x : {distinct(-3, -1), integers(-3, -1)}) {
    cases.push_back({.op = OpKind::MaxPool2dGradient,
                     .attrs = p.attrs,
                     .inputs = {{y}, {p.x, x}, {.is_state = true}}});
  }
}

void add_average(OpCases& cases, const Pool& p, const Shape& y) {
  for (bool includes_padding : {false, true}) {
    const AveragePool2dAttrs attrs{p.attrs.kernel_size, p.attrs.strides,
                                   p.attrs.dilation_rates, p.attrs.padding,
                                   includes_padding};
    cases.push_back({.op = OpKind::AveragePool2d,
                     .attrs = attrs,
                     .inputs = {{p.x}},
                     .gradients = {0}});
    cases.push_back(
        {.op = OpKind::AveragePool2dGradient,
         .attrs =
             AveragePool2dGradientAttrs{attrs.kernel_size, attrs.strides,
                                        attrs.dilation_rates, attrs.padding,
                                        includes_padding, p.x},
         .inputs = {{y}},
         .gradients = {0}});
  }
}

void add(OpCases& cases, const Pool& p) {
  const Shape y{p.x[0], p.x[1], out_size(p, 0), out_size(p, 1)};
  add_max(cases, p, y);
  add_average(cases, p, y);
}

std::vector<Pool> pools() {
  return {
      {{1, 1, 1, 1}},
      {{2, 3, 4, 6}, {.kernel_size = {2, 2}, .strides = {2, 2}}},
      {{2, 3, 5, 7}, {.kernel_size = {2, 2}, .strides = {2, 2}}},
      {{2, 5, 7, 7}, {.kernel_size = {3, 3}, .strides = {2, 2}}},
      {{1, 3, 5, 5}, {.kernel_size = {3, 3}, .padding = {1, 1, 1, 1}}},
      {{1, 2, 5, 6}, {.kernel_size = {2, 3}, .padding = {1, 0, 2, 1}}},
      {{2, 2, 7, 5},
       {.kernel_size = {3, 2}, .strides = {2, 1}, .padding = {0, 2, 1, 0}}},
      {{1, 2, 9, 8}, {.kernel_size = {2, 2}, .strides = {4, 3}}},
      {{2, 2, 7, 9}, {.kernel_size = {2, 3}, .dilation_rates = {3, 2}}},
      {{2, 2, 5, 6},
       {.kernel_size = {3, 2},
        .strides = {2, 1},
        .dilation_rates = {1, 2},
        .padding = {1, 1, 0, 1}}},
      {{3, 4, 6, 5}, {.kernel_size = {6, 5}}},
      // Taller than the image, which padding makes up for.
      {{1, 1, 2, 5}, {.kernel_size = {4, 2}, .padding = {1, 1, 0, 0}}},
      {{2, 1, 1, 1}, {.kernel_size = {3, 3}, .padding = {1, 1, 1, 1}}},
      {{2, 16, 6, 6}, {.kernel_size = {2, 2}, .strides = {2, 2}}},
      {{2, 17, 5, 5},
       {.kernel_size = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}}},
      {{4, 8, 19, 23}, {.kernel_size = {3, 3}, .strides = {2, 2}}},
  };
}

Pool random_pool(Random& random) {
  while (true) {
    Pool p{{pick(random, 1, 3), pick(random, 1, 5), pick(random, 1, 8),
            pick(random, 1, 8)}};
    for (int i = 0; i < 2; ++i) {
      p.attrs.kernel_size[i] = pick(random, 1, 4);
      p.attrs.strides[i] = pick(random, 1, 4);
      p.attrs.dilation_rates[i] = pick(random, 1, 2);
    }
    for (std::int64_t& padding : p.attrs.padding) padding = pick(random, 0, 3);
    if (has_samples(p, 0) && has_samples(p, 1)) return p;
  }
}

}  // namespace

void add_pool_cases(OpCases& cases, Random& random) {
  for (const Pool& p : pools()) add(cases, p);
  for (int i = 0; i < 24; ++i) add(cases, random_pool(random));
}

}  // namespace traingraph::testing
