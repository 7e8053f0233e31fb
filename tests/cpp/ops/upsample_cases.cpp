// SPDX-License-Identifier: MIT
// Cases of upsample and its gradient: both modes, ratios above and below 1,
// whole and not, and single samples.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

void add(OpCases& cases, const Shape& x, const Shape& extents) {
  Shape y = x, from;
  for (int i = 0; i < extents.rank(); ++i) {
    const int axis = x.rank() - extents.rank() + i;
    from.push_back(x[axis]);
    y[axis] = extents[i];
  }
  const auto add_mode = [&](SampleMode mode, bool aligns_corners) {
    const bool is_nearest = mode == SampleMode::Nearest;
    cases.push_back({.op = OpKind::Upsample,
                     .attrs = UpsampleAttrs{extents, mode, aligns_corners},
                     .inputs = {{x}},
                     .gradients = {0},
                     .tolerance = is_nearest ? 0 : kTolerance});
    cases.push_back({.op = OpKind::UpsampleGradient,
                     .attrs = UpsampleAttrs{from, mode, aligns_corners},
                     .inputs = {{y}},
                     .gradients = {0}});
  };
  add_mode(SampleMode::Nearest, false);
  add_mode(SampleMode::Linear, false);
  add_mode(SampleMode::Linear, true);
}

}  // namespace

void add_upsample_cases(OpCases& cases, Random& random) {
  add(cases, {2, 3, 4, 5}, {8, 10});
  add(cases, {2, 3, 4, 6}, {6, 4});  // nearest samples that are as near
  add(cases, {1, 2, 6, 5}, {2, 3});
  add(cases, {1, 2, 3, 4}, {3, 4});
  add(cases, {1, 1, 1, 1}, {5, 1});
  add(cases, {2, 1, 5, 1}, {1, 7});
  add(cases, {2, 2, 3, 4}, {9});
  add(cases, {2, 3, 7}, {11});
  add(cases, {3, 1, 9}, {2});
  add(cases, {1, 17, 9, 11}, {23, 8});
  add(cases, {2, 4, 31, 33}, {67, 66});
  for (int i = 0; i < 12; ++i) {
    const int rank = static_cast<int>(pick(random, 3, 4));
    const int num_sampled = static_cast<int>(pick(random, 1, rank - 2));
    add(cases, random_shape(random, rank, 8),
        random_shape(random, num_sampled, 20));
  }
}

}  // namespace traingraph::testing
