// SPDX-License-Identifier: MIT
#include "metal/ops/pool_window.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <vector>

#include "graph/program.h"
#include "metal/lowering_support.h"

namespace traingraph::metal {
namespace {

using namespace testing;

/// The samples that each window reads.
std::vector<std::set<std::int64_t>> samples(std::int64_t in,
                                            const AxisWindow& window,
                                            AxisPadding padding) {
  std::vector<std::set<std::int64_t>> all;
  const std::int64_t count = window_count(in, window, padding);
  for (std::int64_t i = 0; i < count; ++i) {
    auto& read = all.emplace_back();
    for (std::int64_t k = 0; k < window.kernel; ++k) {
      const std::int64_t at =
          i * window.stride + k * window.dilation - padding.before;
      if (at >= 0 && at < in) read.insert(at);
    }
  }
  return all;
}

/// Calls f with every window up to a size that reads some sample everywhere.
template <class F>
void for_each_window(F f) {
  constexpr std::int64_t kMax = 5;
  for (std::int64_t in = 1; in <= kMax; ++in) {
    for (std::int64_t kernel = 1; kernel <= kMax; ++kernel) {
      for (std::int64_t stride = 1; stride <= 3; ++stride) {
        for (std::int64_t dilation = 1; dilation <= kMax; ++dilation) {
          for (std::int64_t before = 0; before <= 2 * kMax; ++before) {
            for (std::int64_t after = 0; after <= 2 * kMax; ++after) {
              const AxisWindow window{kernel, stride, dilation};
              const AxisPadding padding{before, after};
              if (window_count(in, window, padding) == 0) continue;
              if (has_empty_window(in, window, padding)) continue;
              f(in, window, padding);
            }
          }
        }
      }
    }
  }
}

TEST(PoolWindow, ReadsTheSameSamples) {
  int num_trimmed = 0;
  for_each_window([&](std::int64_t in, AxisWindow window, AxisPadding padding) {
    const TrimmedAxis trimmed = trim_axis(in, window, padding);
    EXPECT_GE(trimmed.padding.before, 0);
    EXPECT_GE(trimmed.padding.after, 0);
    EXPECT_LE(trimmed.window.kernel, window.kernel);
    EXPECT_EQ(samples(in, trimmed.window, trimmed.padding),
              samples(in, window, padding))
        << in << " samples, kernel " << window.kernel << ", stride "
        << window.stride << ", dilation " << window.dilation << ", padding "
        << padding.before << ", " << padding.after;
    if (trimmed.window.kernel < window.kernel) ++num_trimmed;
  });
  EXPECT_GT(num_trimmed, 1000);
}

TEST(PoolWindow, LeavesCommonOnesAlone) {
  const Shape image{2, 3, 17, 32};
  for (const Window2d& window : {Window2d{{2, 2}, {2, 2}},
                                 Window2d{{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                                 Window2d{{3, 5}, {1, 1}, {2, 3}, {2, 2, 6, 6}},
                                 Window2d{{17, 32}, {17, 32}}}) {
    const Window2d trimmed = trim_window(window, image);
    EXPECT_EQ(trimmed.kernel_size, window.kernel_size);
    EXPECT_EQ(trimmed.strides, window.strides);
    EXPECT_EQ(trimmed.dilation_rates, window.dilation_rates);
    EXPECT_EQ(trimmed.padding, window.padding);
  }
}

constexpr std::int64_t kHuge = (std::int64_t{1} << 31) - 1;

/// Every window of a 4 by 4 image is the whole image.
constexpr Padding kHalf{kHuge / 2, kHuge / 2, kHuge / 2, kHuge / 2};

TEST(PoolWindow, IsNoLargerThanTheImageNeeds) {
  const Shape image{1, 1, 4, 4};
  const Window2d large =
      trim_window({{kHuge, kHuge}, {1, 1}, {1, 1}, kHalf}, image);
  EXPECT_EQ(large.kernel_size, (Pair{7, 7}));
  EXPECT_EQ(large.padding, (Padding{3, 3, 3, 3}));
  const Window2d dilated = trim_window(
      {{3, 3}, {1, 1}, {kHuge, kHuge}, {kHuge, kHuge, kHuge, kHuge}}, image);
  EXPECT_EQ(dilated.kernel_size, (Pair{1, 1}));
  EXPECT_EQ(dilated.dilation_rates, (Pair{1, 1}));
  EXPECT_EQ(dilated.padding, (Padding{0, 0, 0, 0}));
}

const Shape kImage{1, 2, 4, 4};

/// Numbers whose sums are exact.
std::vector<double> image() {
  std::vector<double> x;
  for (int i = 0; i < 32; ++i) x.push_back(i * 7 % 32 - 16);
  return x;
}

TEST(HugeWindowsOnTheGpu, MeanWhatTheyDoOnTheCpu) {
  Pool2dAttrs max{.kernel_size = {kHuge, kHuge}};
  max.strides = {1, 1};
  max.padding = kHalf;
  AveragePool2dAttrs average;
  average.kernel_size = {kHuge, kHuge};
  average.padding = kHalf;
  const auto expect_alike_on_both = [](OpKind op, const Attributes& attrs) {
    const std::vector<testing::Operand> x{{kImage, image()}};
    expect_alike(run_on_gpu(op, attrs, x),
                 run_op_on(DeviceType::CPU, op, attrs, x).at(0), 1e-6);
  };
  expect_alike_on_both(OpKind::MaxPool2d, max);
  expect_alike_on_both(OpKind::AveragePool2d, average);
  AveragePool2dGradientAttrs back;
  back.kernel_size = average.kernel_size;
  back.padding = average.padding;
  back.shape = kImage;
  expect_alike_on_both(OpKind::AveragePool2dGradient, back);
  max.kernel_size = {3, 3};
  max.dilation_rates = {kHuge, kHuge};
  max.padding = {kHuge, kHuge, kHuge, kHuge};
  expect_alike_on_both(OpKind::MaxPool2d, max);
}

// The divisor is that of the whole kernel.
TEST(HugeWindowsOnTheGpu, CountTheirPadding) {
  AveragePool2dAttrs attrs;
  attrs.kernel_size = {64, 32};
  attrs.padding = {32, 31, 16, 15};
  attrs.count_includes_padding = true;
  const testing::Operand x{kImage, image()};
  expect_alike(run_on_gpu(OpKind::AveragePool2d, attrs, {x}),
               run_op_on(DeviceType::CPU, OpKind::AveragePool2d, attrs, {x})[0],
               1e-6);
  AveragePool2dGradientAttrs back{
      attrs.kernel_size, attrs.strides, attrs.dilation_rates,
      attrs.padding,     true,          kImage};
  expect_alike(
      run_on_gpu(OpKind::AveragePool2dGradient, back, {x}),
      run_op_on(DeviceType::CPU, OpKind::AveragePool2dGradient, back, {x})[0],
      1e-6);
}

}  // namespace
}  // namespace traingraph::metal
