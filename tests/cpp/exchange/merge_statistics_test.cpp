// SPDX-License-Identifier: MIT
// Moments and sums of parts against those of the whole.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/exchange/statistics.h"

namespace traingraph {
namespace {

/// n, mean, sum of squared deviations.
std::vector<double> moments_of(const std::vector<double>& values,
                               std::size_t begin, std::size_t end) {
  const auto n = static_cast<double>(end - begin);
  double mean = 0, squares = 0;
  for (std::size_t i = begin; i < end; ++i) mean += values[i] / n;
  for (std::size_t i = begin; i < end; ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  return {n, mean, squares};
}

TEST(MergeStatistics, MomentsOfPartsAreThoseOfTheWhole) {
  std::mt19937_64 random(1);
  for (const double center : {0.0, 1e4, 1e9}) {
    std::normal_distribution<double> normal(center, 1);
    std::vector<double> values(1000), all;
    for (double& value : values) value = normal(random);
    // The last one has a single sample, whose deviations are none.
    const std::size_t ends[] = {0, 3, 500, 999, 1000};
    for (int i = 0; i < 4; ++i) {
      const auto part = moments_of(values, ends[i], ends[i + 1]);
      all.insert(all.end(), part.begin(), part.end());
    }
    std::vector<double> merged(3);
    merge_statistics(all, {.values = merged, .are_moments = true, .node = {}});
    const auto whole = moments_of(values, 0, 1000);
    EXPECT_EQ(merged[0], 1000);
    // Sums of 1000 numbers of this size in double, rounded at random.
    const double rounding = 0x1p-52 * 32 * std::max(1.0, center);
    EXPECT_NEAR(merged[1], whole[1], rounding);
    EXPECT_NEAR(merged[2], whole[2], 1000 * (rounding + rounding * rounding));
  }
}

TEST(MergeStatistics, SumsAreSums) {
  const double all[] = {2, 1, -1, 10, 3, 5, 0.5, 20};
  std::vector<double> merged(4);
  merge_statistics(all, {.values = merged, .are_moments = false, .node = {}});
  EXPECT_EQ(merged, (std::vector<double>{5, 6, -0.5, 30}));
}

}  // namespace
}  // namespace traingraph
