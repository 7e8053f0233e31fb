// SPDX-License-Identifier: MIT
// Moments and sums of parts against those of the whole.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/exchange/statistics.h"

namespace traingraph {
namespace {

using Floats = std::vector<float>;

/// n, the mean in two float32, the variance: the moments of one channel.
Floats moments_of(const std::vector<double>& values, std::size_t begin,
                  std::size_t end) {
  const auto n = static_cast<double>(end - begin);
  double mean = 0, variance = 0;
  for (std::size_t i = begin; i < end; ++i) mean += values[i] / n;
  for (std::size_t i = begin; i < end; ++i) {
    variance += (values[i] - mean) * (values[i] - mean) / n;
  }
  const auto rounded = static_cast<float>(mean);
  return {static_cast<float>(n), rounded, static_cast<float>(mean - rounded),
          static_cast<float>(variance)};
}

TEST(MergeStatistics, MomentsOfPartsAreThoseOfTheWhole) {
  std::mt19937_64 random(1);
  for (const double center : {0.0, 1e4, 1e6}) {
    std::normal_distribution<double> normal(center, 1);
    std::vector<double> values(1000);
    for (double& value : values) value = normal(random);
    Floats all;
    // The last one has a single sample, whose deviations are none.
    const std::size_t ends[] = {0, 3, 500, 999, 1000};
    for (int i = 0; i < 4; ++i) {
      const Floats part = moments_of(values, ends[i], ends[i + 1]);
      all.insert(all.end(), part.begin(), part.end());
    }
    Floats merged(4);
    merge_statistics(all, {.values = merged, .are_moments = true, .node = {}});
    const Floats whole = moments_of(values, 0, 1000);
    EXPECT_EQ(merged[0], 1000);
    EXPECT_EQ(merged[1], whole[1]);
    // Two float32 have 48 bits of a mean, one has 24 of a variance of 1, to
    // which the means add their distances.
    const double of_means = 0x1p-48 * std::max(1.0, center);
    EXPECT_NEAR(merged[2], whole[2], 2 * of_means);
    EXPECT_NEAR(merged[3], whole[3], 0x1p-23 + 8 * of_means);
  }
}

TEST(MergeStatistics, ChannelsStayApart) {
  // Rows of two channels, of two parts: one sample each.
  const Floats all{1, 1, 2, 10, 0, 0, 0, 0, 1, 1, 4, 10, 0, 0, 0, 0};
  Floats merged(8);
  merge_statistics(all, {.values = merged, .are_moments = true, .node = {}});
  EXPECT_EQ(merged, (Floats{2, 2, 3, 10, 0, 0, 1, 0}));
}

TEST(MergeStatistics, AnInfiniteMeanStaysOne) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Floats all{1, kInfinity, 0, 0, 1, 2, 0, 0};
  Floats merged(4);
  merge_statistics(all, {.values = merged, .are_moments = true, .node = {}});
  EXPECT_EQ(merged[1], kInfinity);
  EXPECT_EQ(merged[2], 0);
}

TEST(MergeStatistics, SumsAreSums) {
  const Floats all{2, 1, -1, 10, 3, 5, 0.5, 20};
  Floats merged(4);
  merge_statistics(all, {.values = merged, .are_moments = false, .node = {}});
  EXPECT_EQ(merged, (Floats{5, 6, -0.5, 30}));
}

}  // namespace
}  // namespace traingraph
