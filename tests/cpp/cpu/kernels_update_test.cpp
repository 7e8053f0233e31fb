// SPDX-License-Identifier: MIT
// The optimizer updates, clipping and accumulation against the same formulas in
// double, one element at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

constexpr std::int64_t kCount = 37;  // no multiple of a vector
constexpr double kRate = 0.05, kCorrected = 0.03, kTolerance = 2e-6;
const Shape kShape{kCount};

enum class Clips { Off, On };

Values rates(Clips clips) {
  return {kRate, kCorrected, clips == Clips::On ? 1.0 : 0.0, 0};
}

/// Attributes that every update shares.
template <class Attrs>
Attrs with_preparation(Attrs attrs, RegularizationType type) {
  attrs.gradient_rescale = 0.5f;
  attrs.clips_by_value = true;
  attrs.gradient_clip_min = -0.75f;
  attrs.gradient_clip_max = 0.5f;
  attrs.regularization_type = type;
  attrs.regularization_scale = 0.125f;
  return attrs;
}

template <class Attrs>
double prepared(const Attrs& attrs, Clips clips, double scale, double g,
                double p) {
  g *= scale;
  if (attrs.clips_by_value && clips == Clips::On) {
    g = std::clamp<double>(g, attrs.gradient_clip_min, attrs.gradient_clip_max);
  }
  g *= attrs.gradient_rescale;
  if (attrs.regularization_type == RegularizationType::L1) {
    g += attrs.regularization_scale * ((p > 0) - (p < 0));
  }
  if (attrs.regularization_type == RegularizationType::L2) {
    g += attrs.regularization_scale * p;
  }
  return g;
}

Values positive(std::uint64_t seed) {
  Values values = random_values(kCount, seed);
  for (double& v : values) v = std::fabs(v);
  return values;
}

struct UpdateCase {
  RegularizationType regularization;
  Clips clips;
  double scale;  // 1: no scale input
};

class Update : public ::testing::TestWithParam<UpdateCase> {
 protected:
  void finish(OpRun& run) {
    run.input({4}, rates(GetParam().clips));
    GetParam().scale == 1 ? run.no_input() : run.input({1}, {GetParam().scale});
    run.run();
  }
  template <class Attrs>
  double g_at(const Attrs& attrs, int i) const {
    return prepared(attrs, GetParam().clips, GetParam().scale, g[i], p[i]);
  }

  // Parameter (with a zero, for the sign), gradient and slots.
  Values p = with_zero(random_values(kCount, 1));
  Values g = random_values(kCount, 2), m = random_values(kCount, 3);
  Values v = positive(4), w = positive(5);

 private:
  static Values with_zero(Values values) {
    values[5] = 0;
    return values;
  }
};

TEST_P(Update, Sgd) {
  const auto attrs =
      with_preparation(SgdUpdateAttrs{}, GetParam().regularization);
  Values expected = p;
  for (int i = 0; i < kCount; ++i) expected[i] -= kRate * g_at(attrs, i);
  OpRun run(OpKind::SgdUpdate, attrs);
  run.variable(kShape, p).input(kShape, g).no_input();
  finish(run);
  expect_near(run.after(0), expected, kTolerance);
}

TEST_P(Update, SgdWithMomentum) {
  for (const bool is_nesterov : {false, true}) {
    auto attrs = with_preparation(SgdUpdateAttrs{}, GetParam().regularization);
    attrs.momentum_scale = 0.75f;
    attrs.uses_nesterov_momentum = is_nesterov;
    Values new_p = p, new_m = m;
    for (int i = 0; i < kCount; ++i) {
      const double step = g_at(attrs, i);
      new_m[i] = 0.75 * m[i] + (is_nesterov ? step : kRate * step);
      new_p[i] -= is_nesterov ? kRate * (step + 0.75 * new_m[i]) : new_m[i];
    }
    OpRun run(OpKind::SgdUpdate, attrs);
    run.variable(kShape, p).input(kShape, g).variable(kShape, m);
    finish(run);
    expect_near(run.after(0), new_p, kTolerance);
    expect_near(run.after(2), new_m, kTolerance);
  }
}

TEST_P(Update, Adam) {
  for (const bool uses_amsgrad : {false, true}) {
    auto attrs = with_preparation(AdamUpdateAttrs{}, GetParam().regularization);
    attrs.beta1 = 0.875f, attrs.beta2 = 0.75f, attrs.epsilon = 0.01f;
    attrs.uses_amsgrad = uses_amsgrad;
    Values new_p = p, new_m = m, new_v = v, new_w = w;
    for (int i = 0; i < kCount; ++i) {
      const double step = g_at(attrs, i);
      new_m[i] = 0.875 * m[i] + 0.125 * step;
      new_v[i] = 0.75 * v[i] + 0.25 * step * step;
      new_w[i] = std::max(w[i], new_v[i]);
      const double largest = uses_amsgrad ? new_w[i] : new_v[i];
      new_p[i] -= kCorrected * new_m[i] / (std::sqrt(largest) + 0.01f);
    }
    OpRun run(OpKind::AdamUpdate, attrs);
    run.variable(kShape, p).input(kShape, g);
    run.variable(kShape, m).variable(kShape, v);
    uses_amsgrad ? run.variable(kShape, w) : run.no_input();
    finish(run);
    expect_near(run.after(0), new_p, kTolerance);
    expect_near(run.after(2), new_m, kTolerance);
    expect_near(run.after(3), new_v, kTolerance);
    if (uses_amsgrad) expect_near(run.after(4), new_w, kTolerance);
  }
}

TEST_P(Update, AdamWithDecoupledDecay) {
  auto attrs = with_preparation(AdamUpdateAttrs{}, GetParam().regularization);
  attrs.beta1 = 0.875f, attrs.beta2 = 0.75f, attrs.epsilon = 0.01f;
  attrs.decoupled_decay = true;
  auto undecayed = attrs;
  undecayed.regularization_type = RegularizationType::None;
  Values expected = p;
  for (int i = 0; i < kCount; ++i) {
    const double step = g_at(undecayed, i);
    const double new_m = 0.875 * m[i] + 0.125 * step;
    const double new_v = 0.75 * v[i] + 0.25 * step * step;
    expected[i] -=
        kCorrected * new_m / (std::sqrt(new_v) + 0.01f) + kRate * 0.125 * p[i];
  }
  OpRun run(OpKind::AdamUpdate, attrs);
  run.variable(kShape, p).input(kShape, g);
  run.variable(kShape, m).variable(kShape, v).no_input();
  finish(run);
  expect_near(run.after(0), expected, kTolerance);
}

TEST_P(Update, Rmsprop) {
  for (const bool has_momentum : {false, true}) {
    for (const bool is_centered : {false, true}) {
      auto attrs =
          with_preparation(RmspropUpdateAttrs{}, GetParam().regularization);
      attrs.alpha = 0.75f, attrs.epsilon = 0.01f;
      attrs.momentum_scale = has_momentum ? 0.5f : 0;
      attrs.is_centered = is_centered;
      Values average = random_values(kCount, 6), square(kCount);
      for (double& a : average) a /= 4;
      // A square average is at least the average squared.
      for (int i = 0; i < kCount; ++i) {
        square[i] = v[i] + average[i] * average[i] + 0.1;
      }
      Values new_p = p, new_square = square, new_m = m, new_average = average;
      for (int i = 0; i < kCount; ++i) {
        const double step = g_at(attrs, i);
        new_square[i] = 0.75 * square[i] + 0.25 * step * step;
        new_average[i] = 0.75 * average[i] + 0.25 * step;
        const double variance =
            is_centered ? new_square[i] - new_average[i] * new_average[i]
                        : new_square[i];
        const double change = kRate * step / (std::sqrt(variance) + 0.01f);
        new_m[i] = 0.5 * m[i] - change;
        new_p[i] += has_momentum ? new_m[i] : -change;
      }
      OpRun run(OpKind::RmspropUpdate, attrs);
      run.variable(kShape, p).input(kShape, g).variable(kShape, square);
      has_momentum ? run.variable(kShape, m) : run.no_input();
      is_centered ? run.variable(kShape, average) : run.no_input();
      finish(run);
      expect_near(run.after(0), new_p, kTolerance);
      expect_near(run.after(2), new_square, kTolerance);
      if (has_momentum) expect_near(run.after(3), new_m, kTolerance);
      if (is_centered) expect_near(run.after(4), new_average, kTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Update,
    ::testing::Values(UpdateCase{RegularizationType::None, Clips::Off, 1},
                      UpdateCase{RegularizationType::None, Clips::On, 0.25},
                      UpdateCase{RegularizationType::L1, Clips::On, 1},
                      UpdateCase{RegularizationType::L2, Clips::Off, 0.25},
                      UpdateCase{RegularizationType::L2, Clips::On, 1}));

TEST(SgdUpdate, PassesNaNOn) {
  // A clipped NaN would hide that training has diverged.
  SgdUpdateAttrs attrs;
  attrs.clips_by_value = true;
  OpRun run(OpKind::SgdUpdate, attrs);
  run.variable({2}, {1, 1}).input({2}, {std::nan(""), 5}).no_input();
  run.input({4}, {0.5, 0, 1, 0}).no_input().run();
  expect_near(run.after(0), {std::nan(""), 0.5}, 0);
}

double clip_scale(ClipScaleAttrs attrs, Clips clips, const Values& squares) {
  OpRun run(OpKind::ClipScale, attrs);
  run.input({4}, rates(clips));
  for (double square : squares) run.input({1}, {square});
  run.run();
  return run.result()[0];
}

TEST(ClipScale, ScalesOnlyWhatIsTooLarge) {
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, Clips::On, {9, 16}), 0.2f);
  EXPECT_EQ(clip_scale({.maximum_norm = 5}, Clips::On, {9, 16}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, Clips::Off, {9, 16}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, Clips::On, {0}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1, .custom_norm = 4}, Clips::On, {9}),
            0.25);
}

Values accumulated(const Values& sum, const Values& gradient,
                   const Values& factors) {
  OpRun run(OpKind::AccumulateGradient, NoAttrs{});
  const Shape shape{static_cast<std::int64_t>(sum.size())};
  run.variable(shape, sum).input(shape, gradient).input({2}, factors).run();
  return run.after(0);
}

TEST(AccumulateGradient, AddsOrStartsOver) {
  expect_near(accumulated({1, 2}, {10, 20}, {1, 1}), {11, 22}, 0);
  expect_near(accumulated({1, 2}, {10, 20}, {0.5, 1}), {10.5, 21}, 0);
  expect_near(accumulated({1, 2}, {10, 20}, {0.5, 0.5}), {5.5, 11}, 0);
  expect_near(accumulated({std::nan(""), 2}, {10, 20}, {0, 1}), {10, 20}, 0);
}

}  // namespace
}  // namespace traingraph::testing
