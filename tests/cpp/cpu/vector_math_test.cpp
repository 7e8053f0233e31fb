// SPDX-License-Identifier: MIT
// The error bounds that vector_math.h states, against double precision, over
// floats of every magnitude.
#include "cpu/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace traingraph::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The distance of neighbouring floats at `x`.
double unit_in_last_place(double x) {
  constexpr double kSmallest = std::numeric_limits<float>::denorm_min();
  if (x == 0) return kSmallest;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::max(std::ldexp(1.0, exponent - 24), kSmallest);
}

/// Calls check(x) for floats of both signs and all exponents in [low, high].
template <class Check>
void for_floats(float low, float high, Check check) {
  constexpr std::uint32_t kStep = 4099;  // some 2,000 per power of two
  const auto infinity = std::bit_cast<std::uint32_t>(kInfinity);
  for (std::uint32_t bits = 0; bits < infinity; bits += kStep) {
    const auto x = std::bit_cast<float>(bits);
    if (x >= low && x <= high) check(x);
    if (-x >= low && -x <= high) check(-x);
  }
}

template <class Fast, class Exact>
void expect_within(double bound, float low, float high, Fast fast,
                   Exact exact) {
  double worst = 0;
  float at = 0;
  for_floats(low, high, [&](float x) {
    const double expected = exact(static_cast<double>(x));
    const double error =
        std::fabs(fast(x) - expected) / unit_in_last_place(expected);
    if (error <= worst) return;
    worst = error;
    at = x;
  });
  EXPECT_LE(worst, bound) << "at " << at;
}

TEST(VectorMath, ExponentialIsWithinItsBound) {
  // Down to where the result rounds to 0.
  expect_within(1, -110, 88.72f, fast_exp,
                [](double x) { return std::exp(x); });
  EXPECT_EQ(fast_exp(0), 1);
  EXPECT_EQ(fast_exp(88.73f), kInfinity);
  EXPECT_EQ(fast_exp(kInfinity), kInfinity);
  EXPECT_EQ(fast_exp(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(fast_exp(NAN)));
}

TEST(VectorMath, ExponentialBelowIsWithinItsBound) {
  expect_within(1, -87, 88, fast_exp_below,
                [](double x) { return std::exp(x); });
  EXPECT_EQ(fast_exp_below(0), 1);
  EXPECT_LT(fast_exp_below(-87.5f), 1.2e-38f);
  EXPECT_EQ(fast_exp_below(-88), 0);
  EXPECT_EQ(fast_exp_below(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(fast_exp_below(NAN)));
}

TEST(VectorMath, ExponentialMinusOneIsWithinItsBound) {
  expect_within(4, -110, 88.72f, fast_expm1,
                [](double x) { return std::expm1(x); });
  EXPECT_EQ(fast_expm1(-kInfinity), -1);
  EXPECT_EQ(fast_expm1(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(fast_expm1(NAN)));
}

TEST(VectorMath, LogarithmIsWithinItsBound) {
  expect_within(2, 0, 1, fast_log1p_unit,
                [](double x) { return std::log1p(x); });
  EXPECT_TRUE(std::isnan(fast_log1p_unit(NAN)));
}

TEST(VectorMath, SigmoidIsWithinItsBound) {
  expect_within(3, -87, kInfinity, fast_sigmoid,
                [](double x) { return 1 / (1 + std::exp(-x)); });
  EXPECT_EQ(fast_sigmoid(kInfinity), 1);
  EXPECT_EQ(fast_sigmoid(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(fast_sigmoid(NAN)));
}

TEST(VectorMath, HyperbolicTangentIsWithinItsBound) {
  expect_within(2, -kInfinity, kInfinity, fast_tanh,
                [](double x) { return std::tanh(x); });
  EXPECT_EQ(fast_tanh(kInfinity), 1);
  EXPECT_EQ(fast_tanh(-kInfinity), -1);
  EXPECT_TRUE(std::isnan(fast_tanh(NAN)));
}

TEST(VectorMath, RoundingIsExact) {
  for_floats(-kInfinity, kInfinity, [](float x) {
    ASSERT_EQ(fast_round(x), std::nearbyint(x)) << x;
    ASSERT_EQ(fast_floor(x), std::floor(x)) << x;
    ASSERT_EQ(fast_ceil(x), std::ceil(x)) << x;
  });
  for (float x : {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388607.5f, kInfinity}) {
    EXPECT_EQ(fast_round(x), std::nearbyint(x)) << x;
    EXPECT_EQ(fast_floor(x), std::floor(x)) << x;
    EXPECT_EQ(fast_ceil(x), std::ceil(x)) << x;
  }
  EXPECT_TRUE(std::signbit(fast_ceil(-0.5f)));
  EXPECT_TRUE(std::signbit(fast_floor(-0.0f)));
  EXPECT_TRUE(std::isnan(fast_floor(NAN)));
}

}  // namespace
}  // namespace traingraph::cpu
