// SPDX-License-Identifier: MIT
// Dropout: the generator against its published answers, the mask against its
// definition and against statistics.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "formulas/random.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(const Words& counter, std::uint64_t key) {
  return std::bit_cast<Words>(
      formulas::philox(std::bit_cast<formulas::PhiloxBlock>(counter), key));
}

// The known answers that come with Random123.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, ~std::uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

constexpr std::int64_t kCount = 40001;

struct State {
  std::uint64_t seed = 1, step = 0;

  Values words() const {
    Values all;
    for (std::uint64_t bits : {seed, step}) {
      all.push_back(static_cast<std::int32_t>(bits));
      all.push_back(static_cast<std::int32_t>(bits >> 32));
    }
    return all;
  }
};

/// Says which elements are kept; checks that these are scaled.
std::vector<bool> mask_of(const DropoutAttrs& attrs, const State& state) {
  OpRun dropout(OpKind::Dropout, attrs);
  dropout.input({kCount}, Values(kCount, 1))
      .input({4}, state.words(), DataType::Int32)
      .run();
  const double scale = 1 / (1 - static_cast<double>(attrs.rate));
  std::vector<bool> mask;
  for (double y : dropout.result()) {
    mask.push_back(y != 0);
    EXPECT_TRUE(y == 0 || std::abs(y - scale) < 1e-6 * scale) << y;
  }
  return mask;
}

/// Does a count of `n` trials lie within 5 standard deviations?
void expect_rate(std::int64_t count, double probability, std::int64_t n) {
  const double mean = probability * static_cast<double>(n);
  const double deviation = std::sqrt(mean * (1 - probability));
  EXPECT_NEAR(static_cast<double>(count), mean, 5 * deviation + 1e-9);
}

std::int64_t count_kept(const std::vector<bool>& mask) {
  return std::count(mask.begin(), mask.end(), true);
}

TEST(DropoutMask, KeepsItsRate) {
  for (float rate : {0.0f, 0.1f, 0.25f, 0.5f, 0.9f, 0.99f}) {
    for (std::uint64_t step : {0, 1, 1000}) {
      SCOPED_TRACE(rate);
      const auto mask = mask_of({.rate = rate}, {.seed = 42, .step = step});
      expect_rate(count_kept(mask), 1 - static_cast<double>(rate), kCount);
    }
  }
}

TEST(DropoutMask, FollowsTheDefinition) {
  const State state{.seed = 0xfedcba9876543210, .step = 0x123456789a};
  const auto expect_mask = [&](const DropoutAttrs& attrs, std::uint64_t seed) {
    const auto mask = mask_of(attrs, state);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto block = formulas::dropout_block(
          {seed, state.step, static_cast<std::uint32_t>(attrs.stream)}, i / 4);
      const float drawn = formulas::to_unit_float(block.words[i % 4]);
      ASSERT_EQ(mask[i], drawn >= attrs.rate) << i;
    }
  };
  expect_mask({.rate = 0.3f, .stream = 5}, state.seed);
  expect_mask({.rate = 0.7f, .seed = 77, .stream = 1}, 77);
}

/// Two masks that know nothing of each other agree where both keep or both
/// drop.
void expect_independent(const std::vector<bool>& x, const std::vector<bool>& y,
                        double rate) {
  std::int64_t same = 0;
  for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i] ? 1 : 0;
  expect_rate(same, rate * rate + (1 - rate) * (1 - rate), kCount);
}

TEST(DropoutMask, DiffersBySeedStreamAndStep) {
  constexpr float kRate = 0.25f;
  const auto mask = mask_of({.rate = kRate}, {});
  expect_independent(mask, mask_of({.rate = kRate}, {.seed = 2}), kRate);
  expect_independent(mask, mask_of({.rate = kRate}, {.step = 1}), kRate);
  expect_independent(mask, mask_of({.rate = kRate, .stream = 1}, {}), kRate);
  expect_independent(mask, mask_of({.rate = kRate, .seed = 9}, {}), kRate);
  EXPECT_EQ(mask, mask_of({.rate = kRate}, {}));
  // A seed of the op replaces the state's.
  EXPECT_EQ(mask, mask_of({.rate = kRate, .seed = 1}, {.seed = 5}));
}

TEST(DropoutMask, NeighboursAreIndependent) {
  constexpr float kRate = 0.5f;
  const auto mask = mask_of({.rate = kRate}, {.seed = 3});
  for (std::size_t distance : {1, 2, 3, 4, 8, 64}) {
    std::int64_t same = 0;
    for (std::size_t i = distance; i < mask.size(); ++i) {
      same += mask[i] == mask[i - distance] ? 1 : 0;
    }
    SCOPED_TRACE(distance);
    expect_rate(same, 0.5, kCount - static_cast<std::int64_t>(distance));
  }
}

}  // namespace
}  // namespace traingraph::testing
