// SPDX-License-Identifier: MIT
// Window arithmetic: the table of padding policies, checked by counting.
#include "ops/window.h"

#include <gtest/gtest.h>

#include <vector>

namespace traingraph {
namespace {

constexpr PaddingPolicy kPolicies[] = {
    PaddingPolicy::Same, PaddingPolicy::Valid, PaddingPolicy::UsePaddingSize};

/// Windows that fit, found by sliding; the first window that reads outside the
/// padded axis ends it.
std::int64_t count_windows(std::int64_t in, const AxisWindow& window,
                           AxisPadding padding) {
  std::int64_t count = 0;
  const std::int64_t padded = in + padding.before + padding.after;
  while (count * window.stride + (window.kernel - 1) * window.dilation <
         padded) {
    ++count;
  }
  return count;
}

bool reads_only_padding(std::int64_t i, std::int64_t in,
                        const AxisWindow& window, AxisPadding padding) {
  for (std::int64_t u = 0; u < window.kernel; ++u) {
    const std::int64_t at =
        i * window.stride + u * window.dilation - padding.before;
    if (at >= 0 && at < in) return false;
  }
  return true;
}

std::vector<AxisWindow> all_windows() {
  std::vector<AxisWindow> windows;
  for (std::int64_t kernel = 1; kernel <= 5; ++kernel) {
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
      for (std::int64_t dilation = 1; dilation <= 3; ++dilation) {
        windows.push_back({kernel, stride, dilation});
      }
    }
  }
  return windows;
}

std::string text(std::int64_t in, const AxisWindow& window) {
  return "in " + std::to_string(in) + " kernel " +
         std::to_string(window.kernel) + " stride " +
         std::to_string(window.stride) + " dilation " +
         std::to_string(window.dilation);
}

/// Windows that begin in front of the padding behind the axis, one of which may
/// end behind all of it.
std::int64_t count_to_ceil(std::int64_t in, const AxisWindow& window,
                           AxisPadding padding) {
  const std::int64_t floor = count_windows(in, window, padding);
  const std::int64_t span = (window.kernel - 1) * window.dilation + 1;
  const std::int64_t padded = in + padding.before + padding.after;
  const bool is_cut = (floor - 1) * window.stride + span < padded;
  const bool begins_inside = floor * window.stride < in + padding.before;
  return floor + (is_cut && begins_inside ? 1 : 0);
}

TEST(CeilMode, AddsAtMostOneWindow) {
  for (const AxisWindow& window : all_windows()) {
    for (std::int64_t in = 1; in <= 12; ++in) {
      for (std::int64_t size = 0; size <= window.kernel / 2; ++size) {
        SCOPED_TRACE(text(in, window) + " padding " + std::to_string(size));
        const AxisPadding padding{size, size};
        if (count_windows(in, window, padding) == 0) continue;
        const AxisPadding extended = extend_padding(in, window, padding);
        EXPECT_EQ(extended.before, padding.before);
        EXPECT_GE(extended.after, padding.after);
        EXPECT_EQ(count_windows(in, window, extended),
                  count_to_ceil(in, window, padding));
      }
    }
  }
}

TEST(CeilMode, TakesAWindowLargerThanTheAxis) {
  EXPECT_EQ(extend_padding(2, {3, 2, 1}, {}), (AxisPadding{0, 1}));
  EXPECT_EQ(extend_padding(1, {3, 2, 1}, {}), (AxisPadding{}));
}

TEST(WindowSpan, CountsTheGapsOfDilation) {
  EXPECT_EQ(window_span({3, 1, 1}), 3);
  EXPECT_EQ(window_span({3, 1, 4}), 9);
  EXPECT_EQ(window_span({1, 1, 7}), 1);
}

TEST(WindowCount, RoundsDown) {
  EXPECT_EQ(window_count(8, {3, 2, 1}, {0, 0}), 3);
  EXPECT_EQ(window_count(8, {3, 2, 1}, {0, 1}), 4);
  EXPECT_EQ(window_count(3, {3, 5, 1}, {0, 0}), 1);
}

TEST(WindowCount, IsZeroWhenTheKernelDoesNotFit) {
  EXPECT_EQ(window_count(2, {3, 1, 1}, {0, 0}), 0);
  EXPECT_EQ(window_count(2, {3, 4, 1}, {0, 0}), 0);
  EXPECT_EQ(window_count(8, {3, 1, 4}, {0, 0}), 0);
}

TEST(ResolvePadding, SameKeepsTheExtentAtStrideOne) {
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 7, {3, 1, 1}, 0),
            (AxisPadding{1, 1}));
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 7, {4, 1, 1}, 0),
            (AxisPadding{1, 2}));
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 7, {3, 1, 2}, 0),
            (AxisPadding{2, 2}));
}

TEST(ResolvePadding, SamePutsTheOddSampleBehind) {
  // The first convolution of ResNet: 224 -> 112, 2 in front and 3 behind.
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 224, {7, 2, 1}, 0),
            (AxisPadding{2, 3}));
}

TEST(ResolvePadding, SameNeverIsNegative) {
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 9, {1, 4, 1}, 0),
            (AxisPadding{0, 0}));
}

TEST(ResolvePadding, SizesArePaddedOnBothSides) {
  EXPECT_EQ(resolve_padding(PaddingPolicy::UsePaddingSize, 7, {3, 2, 1}, 3),
            (AxisPadding{3, 3}));
}

TEST(ResolvePadding, OnlyUsePaddingSizeReadsTheSize) {
  EXPECT_EQ(resolve_padding(PaddingPolicy::Valid, 7, {3, 1, 1}, 3),
            (AxisPadding{0, 0}));
  EXPECT_EQ(resolve_padding(PaddingPolicy::Same, 7, {3, 1, 1}, 3),
            (AxisPadding{1, 1}));
}

TEST(ResolvePadding, GivesTheExtentsOfTheTable) {
  for (const AxisWindow& window : all_windows()) {
    for (std::int64_t in = 1; in <= 16; ++in) {
      const auto same = resolve_padding(PaddingPolicy::Same, in, window, 0);
      EXPECT_EQ(count_windows(in, window, same),
                (in + window.stride - 1) / window.stride)
          << text(in, window);
      for (PaddingPolicy policy : kPolicies) {
        const auto padding = resolve_padding(policy, in, window, 2);
        EXPECT_EQ(window_count(in, window, padding),
                  count_windows(in, window, padding))
            << text(in, window);
      }
    }
  }
}

TEST(ResolveTransposedPadding, GivesTheExtentsOfTheTable) {
  const AxisWindow window{3, 2, 1};
  EXPECT_EQ(resolve_transposed_padding(PaddingPolicy::Same, 5, window, 0),
            (TransposedAxis{10, {0, 1}}));
  EXPECT_EQ(resolve_transposed_padding(PaddingPolicy::Valid, 5, window, 0),
            (TransposedAxis{11, {0, 0}}));
  EXPECT_EQ(
      resolve_transposed_padding(PaddingPolicy::UsePaddingSize, 5, window, 1),
      (TransposedAxis{9, {1, 1}}));
}

TEST(ResolveTransposedPadding, LeavesAnExtentBelowOneToTheShapeRule) {
  EXPECT_EQ(
      resolve_transposed_padding(PaddingPolicy::UsePaddingSize, 1, {3, 1, 1}, 2)
          .out,
      -1);
}

TEST(ResolveTransposedPadding, UndoesTheConvolutionOfItsResult) {
  for (const AxisWindow& window : all_windows()) {
    for (std::int64_t in = 1; in <= 12; ++in) {
      for (PaddingPolicy policy : kPolicies) {
        const auto axis = resolve_transposed_padding(policy, in, window, 1);
        if (axis.out < 1) continue;
        EXPECT_EQ(count_windows(axis.out, window, axis.padding), in)
            << text(in, window) << " policy " << to_string(policy);
      }
    }
  }
}

TEST(HasEmptyWindow, AgreesWithLookingAtEverySample) {
  int num_empty = 0;
  for (const AxisWindow& window : all_windows()) {
    for (std::int64_t in = 1; in <= 6; ++in) {
      for (const AxisPadding padding :
           {AxisPadding{0, 0}, {1, 1}, {0, 3}, {3, 0}, {5, 2}}) {
        bool expected = false;
        const std::int64_t count = count_windows(in, window, padding);
        for (std::int64_t i = 0; i < count; ++i) {
          expected |= reads_only_padding(i, in, window, padding);
        }
        num_empty += expected;
        EXPECT_EQ(has_empty_window(in, window, padding), expected)
            << text(in, window);
      }
    }
  }
  EXPECT_GT(num_empty, 100);
}

TEST(HasIdleTap, AgreesWithLookingAtEverySample) {
  int num_idle = 0;
  for (const AxisWindow& window : all_windows()) {
    for (std::int64_t in = 1; in <= 6; ++in) {
      for (const AxisPadding padding :
           {AxisPadding{0, 0}, {1, 1}, {0, 3}, {3, 0}, {5, 2}}) {
        const std::int64_t count = count_windows(in, window, padding);
        bool expected = false;
        for (std::int64_t u = 0; count > 0 && u < window.kernel; ++u) {
          bool reads = false;
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t sample =
                i * window.stride + u * window.dilation - padding.before;
            reads |= sample >= 0 && sample < in;
          }
          expected |= !reads;
        }
        num_idle += expected;
        EXPECT_EQ(has_idle_tap(in, window, padding), expected)
            << text(in, window);
      }
    }
  }
  EXPECT_GT(num_idle, 100);
}

TEST(HasIdleParts, LooksAtBothAxes) {
  const Window2d window{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  EXPECT_FALSE(has_idle_parts(window, {7, 2}));
  EXPECT_TRUE(has_idle_parts(window, {7, 1}));
  EXPECT_TRUE(has_idle_parts(window, {1, 7}));
  // Neither of the two windows reads the one row.
  const Window2d missing{{2, 1}, {1, 1}, {3, 1}, {2, 2, 0, 0}};
  EXPECT_TRUE(has_idle_parts(missing, {1, 8}));
}

TEST(HasEmptyWindow, AgreesWhereTapsAreFurtherApartThanTheImageIsLong) {
  for (std::int64_t in = 1; in <= 6; ++in) {
    for (std::int64_t dilation = in; dilation <= 14; ++dilation) {
      for (std::int64_t stride = 1; stride <= 15; ++stride) {
        for (std::int64_t kernel = 2; kernel <= 4; ++kernel) {
          const AxisWindow window{kernel, stride, dilation};
          const AxisPadding padding{(kernel - 1) * dilation,
                                    (kernel - 1) * dilation};
          bool expected = false;
          const std::int64_t count = window_count(in, window, padding);
          for (std::int64_t i = 0; i < count && !expected; ++i) {
            expected = reads_only_padding(i, in, window, padding);
          }
          EXPECT_EQ(has_empty_window(in, window, padding), expected)
              << text(in, window);
        }
      }
    }
  }
}

TEST(EmptyWindow, IsFoundAmongBillionsOfTaps) {
  // Straddles an image of all but one residue: the last of many windows misses.
  constexpr std::int64_t kMax = kMaxWindow;
  EXPECT_TRUE(has_empty_window(kMax - 1, {.kernel = 2, .dilation = kMax},
                               {kMax, kMax}));
  EXPECT_FALSE(has_empty_window(kMax - 1,
                                {.kernel = 2, .stride = kMax, .dilation = kMax},
                                {kMax, kMax - 1}));
}

TEST(EmptyWindow, IsFoundAmongBillions) {
  // Each of 2^31 windows reads the image; so do two taps 2^30 apart, until they
  // straddle it.
  constexpr std::int64_t kBillion = std::int64_t{1} << 30;
  EXPECT_FALSE(has_empty_window(4, {.kernel = 2 * kBillion - 1},
                                {2 * kBillion - 2, 2 * kBillion - 2}));
  EXPECT_TRUE(has_empty_window(4, {.kernel = 2, .dilation = kBillion},
                               {kBillion, kBillion}));
}

TEST(Window2d, OrdersPaddingTopBottomLeftRight) {
  const Window2d window{{3, 5}, {1, 2}, {3, 4}, {1, 2, 3, 4}};
  EXPECT_EQ(window.axis_padding(0), (AxisPadding{1, 2}));
  EXPECT_EQ(window.axis_padding(1), (AxisPadding{3, 4}));
  EXPECT_EQ(window.axis(1).kernel, 5);
  EXPECT_EQ(window.axis(1).stride, 2);
  EXPECT_EQ(window.axis(1).dilation, 4);
}

}  // namespace
}  // namespace traingraph
