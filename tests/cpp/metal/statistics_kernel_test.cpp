// SPDX-License-Identifier: MIT
// The kernels of running statistics and of sums over images, as C++.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formulas/moments.h"
#include "metal/kernels/sources.h"
#include "metal/kernels/statistics.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

// The emulator's own copy has another name.
namespace statistics_kernel_test {
using namespace ::metal;
#include "metal/kernels/statistics.metal"
}  // namespace statistics_kernel_test

namespace traingraph::metal {
namespace {

template <class Params>
Params params_of(const KernelLaunch& launch) {
  Params params;
  EXPECT_EQ(launch.params.size(), sizeof(params));
  std::memcpy(&params, launch.params.data(), sizeof(params));
  return params;
}

std::vector<float> sums(const std::vector<float>& rows, std::uint32_t count) {
  const auto num_rows = static_cast<std::uint32_t>(rows.size()) / count;
  const KernelLaunch launch =
      launch_sum_rows({.num_rows = num_rows, .count = count});
  EXPECT_GE(launch.num_threads, count);
  const auto params = params_of<statistics_kernel_test::SumParams>(launch);
  std::vector<float> result(count + 3, -1);
  for (std::uint32_t id = 0; id < count + 3; ++id) {
    statistics_kernel_test::sum_rows(rows.data(), result.data(), params, id);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(result[count + i], -1);
  result.resize(count);
  return result;
}

TEST(StatisticsKernels, SumColumns) {
  for (std::uint32_t num_rows = 1; num_rows <= 33; ++num_rows) {
    constexpr std::uint32_t kCount = 5;
    std::vector<float> rows(num_rows * kCount);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = float(i);
    const std::vector<float> got = sums(rows, kCount);
    for (std::uint32_t c = 0; c < kCount; ++c) {
      float expected = 0;
      for (std::uint32_t r = 0; r < num_rows; ++r) {
        expected += rows[r * kCount + c];
      }
      EXPECT_EQ(got[c], expected) << num_rows;
    }
  }
}

/// One after the other they would lose three digits.
TEST(StatisticsKernels, ManyRowsCostFewDigits) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(1, 2);
  std::vector<float> rows(100'000);
  double expected = 0;
  for (float& value : rows) expected += value = uniform(random);
  EXPECT_NEAR(sums(rows, 1)[0], expected, 2e-7 * expected);
}

TEST(StatisticsKernels, MoveRunningStatistics) {
  const std::vector<float> before{1, 2, 3}, batch{5, -2, INFINITY};
  const auto move = [&](float momentum, float scale) {
    const KernelLaunch launch = launch_move_statistics(
        {.momentum = momentum, .scale = scale, .count = 3});
    const auto params = params_of<statistics_kernel_test::MoveParams>(launch);
    std::vector<float> after(4, 7);
    for (std::uint32_t id = 0; id < 4; ++id) {
      statistics_kernel_test::move_statistics(before.data(), batch.data(),
                                              after.data(), params, id);
    }
    EXPECT_EQ(after[3], 7);
    return after;
  };
  EXPECT_EQ(move(0.75f, 2)[0], 0.75f + 2.5f);
  EXPECT_EQ(move(0.75f, 2)[1], 1.5f - 1);
  EXPECT_EQ(move(0, 1)[0], 5);
  // They stay, whatever the batch has.
  EXPECT_EQ(move(1, 1)[2], 3);
}

TEST(StatisticsKernels, SourceIsWhatMetalCompiles) {
  const std::string source = kStatisticsSource;
  EXPECT_NE(source.find("#include <metal_stdlib>\n"), source.npos);
  for (const std::string name : {"move_statistics", "sum_rows"}) {
    EXPECT_NE(source.find("kernel void " + name + "("), source.npos) << name;
  }
  EXPECT_EQ(source.find("#include \""), source.npos);
}

}  // namespace
}  // namespace traingraph::metal
