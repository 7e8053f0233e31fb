// SPDX-License-Identifier: MIT
// Rates by the formulas of traingraph/schedule.h, and what optimizers do with
// them.
#include "traingraph/schedule.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <numbers>

#include "traingraph/error.h"
#include "traingraph/optimizers.h"

namespace traingraph {
namespace {

TEST(LearningRateTest, RatesFollowTheFormulas) {
  const auto linear = Schedule::linear(0.5f, 0.1f, 8);
  const auto cosine = Schedule::cosine(0.4f, 10, 0.1f);
  const auto decay = Schedule::exponential(0.3f, 0.5f, 4);
  const auto stairs = Schedule::exponential(0.3f, 0.5f, 4, true);
  for (std::uint64_t n = 0; n < 30; ++n) {
    const double l = std::min<double>(n, 8) / 8,
                 c = std::min<double>(n, 10) / 10;
    EXPECT_FLOAT_EQ(linear.rate(n), static_cast<float>(0.5 - 0.4 * l)) << n;
    EXPECT_NEAR(cosine.rate(n),
                0.1 + 0.15 * (1 + std::cos(std::numbers::pi * c)),
                0.5f * FLT_EPSILON)  // of 0.4 as a float32, and of the rate
        << n;
    EXPECT_FLOAT_EQ(decay.rate(n), 0.3 * std::exp2(-static_cast<double>(n) / 4))
        << n;
    EXPECT_FLOAT_EQ(stairs.rate(n), 0.3 * std::exp2(-std::floor(n / 4.0))) << n;
    EXPECT_EQ(Schedule::constant(0.25f).rate(n), 0.25f);
  }
}

TEST(LearningRateTest, WarmUpLeadsToTheFirstRateOfTheNext) {
  const auto s = Schedule::warm_up(Schedule::cosine(1, 10), 4);
  const float expected[] = {0, 0.25f, 0.5f, 0.75f, 1};
  for (std::uint64_t n = 0; n < 5; ++n) EXPECT_FLOAT_EQ(s.rate(n), expected[n]);
  EXPECT_FLOAT_EQ(s.rate(9), 0.5f);
  EXPECT_NEAR(s.rate(14), 0, 1e-8);
  EXPECT_NEAR(s.rate(1'000'000'000'000), 0, 1e-8);
}

TEST(LearningRateTest, JoinedOnesBeginAnew) {
  const auto ramp = Schedule::linear(0, 1, 10);
  const auto inner = Schedule::join({ramp, ramp}, {5});
  const auto s = Schedule::join({inner, ramp, inner}, {7, 9});
  // Part of the ramp each, by the number of updates.
  const int tenths[] = {0, 1, 2, 3, 4, 0, 1, 0, 1, 0, 1, 2, 3, 4, 0, 1, 2};
  for (std::uint64_t n = 0; n < std::size(tenths); ++n) {
    EXPECT_FLOAT_EQ(s.rate(n), static_cast<float>(tenths[n]) / 10) << n;
  }
  EXPECT_EQ(Schedule::join({ramp}, {}), ramp);
  const auto late = Schedule::join({ramp, ramp}, {UINT64_MAX - 1});
  EXPECT_FLOAT_EQ(Schedule::join({ramp, late}, {100}).rate(UINT64_MAX), 1);
}

TEST(LearningRateTest, RefusesWhatIsNoRate) {
  EXPECT_THROW(Schedule::constant(-1), InvalidArgument);
  EXPECT_THROW(Schedule::constant(NAN), InvalidArgument);
  EXPECT_THROW(Schedule::linear(0, INFINITY, 3), InvalidArgument);
  EXPECT_THROW(Schedule::linear(0, 1, 0), InvalidArgument);
  EXPECT_THROW(Schedule::cosine(1, 0), InvalidArgument);
  EXPECT_THROW(Schedule::exponential(1, 0), InvalidArgument);
  EXPECT_THROW(Schedule::exponential(1, 1.5f), InvalidArgument);
  const auto s = Schedule::constant(1);
  EXPECT_THROW(Schedule::warm_up(s, 0), InvalidArgument);
  EXPECT_THROW(Schedule::join({}, {}), InvalidArgument);
  EXPECT_THROW(Schedule::join({s, s}, {}), InvalidArgument);
  EXPECT_THROW(Schedule::join({s, s}, {0}), InvalidArgument);
  EXPECT_THROW(Schedule::join({s, s, s}, {4, 4}), InvalidArgument);
}

TEST(LearningRateTest, OptimizersHaveItsRateAtTheirTimeStep) {
  optimizers::Adam adam(0.5f);
  const auto s = Schedule::exponential(0.25f, 0.5f);
  adam.set_schedule(s);
  EXPECT_EQ(adam.learning_rate(), 0.25f);
  adam.set_time_step(3);
  EXPECT_EQ(adam.learning_rate(), 0.0625f);
  const double correction =
      std::sqrt(1 - std::pow(0.999, 3)) / (1 - std::pow(0.9, 3));
  EXPECT_NEAR(adam.corrected_rate(), 0.0625 * correction, 1e-7);
  EXPECT_EQ(adam.clone()->schedule(), s);
  EXPECT_THROW(adam.set_learning_rate(1), StateError);
  adam.set_schedule({});
  EXPECT_EQ(adam.learning_rate(), 0.5f);
  adam.set_learning_rate(1);
  EXPECT_EQ(adam.learning_rate(), 1);
}

}  // namespace
}  // namespace traingraph
