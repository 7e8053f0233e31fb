// SPDX-License-Identifier: MIT
#include "metal/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace traingraph::metal {
namespace {

using Values = std::vector<std::int64_t>;
constexpr int kMaxRank = 4;

/// Row-major sums over `axes`, kept with size 1: the obvious loop.
Values sum(const Values& x, const Shape& shape, const Shape& axes) {
  Shape reduced = shape;
  for (std::int64_t axis : axes) reduced[static_cast<int>(axis)] = 1;
  Values result(reduced.num_elements());
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    std::int64_t rest = i, to = 0, stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % shape[axis];
      rest /= shape[axis];
      if (reduced[axis] != 1) to += at * stride;
      stride *= reduced[axis];
    }
    result[to] += x[i];
  }
  return result;
}

void expect_same_sums(const Shape& shape, const Shape& axes) {
  Values x(shape.num_elements());
  std::iota(x.begin(), x.end(), 1);
  Values folded = x;
  for (const FoldedReduction& step : fold_reduction(shape, axes, kMaxRank)) {
    ASSERT_LE(step.shape.rank(), kMaxRank);
    ASSERT_EQ(step.shape.num_elements(),
              static_cast<std::int64_t>(folded.size()));
    folded = sum(folded, step.shape, step.axes);
  }
  EXPECT_EQ(folded, sum(x, shape, axes))
      << shape.to_string() << " over " << axes.to_string();
}

TEST(FoldReduction, LowRanksStayAsTheyAre) {
  const auto steps = fold_reduction({2, 3, 4, 5}, {0, 2}, kMaxRank);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].shape, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(steps[0].axes, (Shape{0, 2}));
}

TEST(FoldReduction, NeighboursJoin) {
  const auto steps = fold_reduction({2, 3, 4, 5, 6}, {0, 1, 4}, kMaxRank);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].shape, (Shape{6, 20, 6}));
  EXPECT_EQ(steps[0].axes, (Shape{0, 2}));
}

TEST(FoldReduction, AllAxesAreOne) {
  const auto steps = fold_reduction({2, 3, 4, 5, 6}, {4, 2, 0, 1, 3}, kMaxRank);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].shape, (Shape{720}));
  EXPECT_EQ(steps[0].axes, (Shape{0}));
}

TEST(FoldReduction, AlternatingAxesTakeSteps) {
  const auto steps = fold_reduction({2, 3, 4, 5, 6}, {0, 2, 4}, kMaxRank);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].shape, (Shape{1, 2, 360}));
  EXPECT_EQ(steps[1].shape, (Shape{3, 4, 30}));
  EXPECT_EQ(steps[2].shape, (Shape{15, 6, 1}));
  for (const auto& step : steps) EXPECT_EQ(step.axes, (Shape{1}));
}

TEST(FoldReduction, AnotherLimitFoldsOtherTensors) {
  EXPECT_EQ(fold_reduction({2, 3, 4, 5, 6}, {0, 2, 4}, 5).size(), 1u);
  EXPECT_EQ(fold_reduction({2, 3, 4, 5}, {0, 2}, 3).size(), 2u);
}

TEST(FoldReduction, SumsAgreeForEverySetOfAxes) {
  for (const Shape& shape :
       {Shape{2, 3, 2, 3, 2}, Shape{2, 1, 3, 2, 1, 2}, Shape{3, 2, 1, 2},
        Shape{2, 2, 2, 2, 2, 2, 2, 2}}) {
    for (int bits = 1; bits < 1 << shape.rank(); ++bits) {
      Shape axes;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (bits >> axis & 1) axes.push_back(axis);
      }
      expect_same_sums(shape, axes);
    }
  }
}

TEST(AroundAxis, JoinsBothSides) {
  EXPECT_EQ(around_axis({2, 3, 4, 5}, 0), (Shape{1, 2, 60}));
  EXPECT_EQ(around_axis({2, 3, 4, 5}, 2), (Shape{6, 4, 5}));
  EXPECT_EQ(around_axis({2, 3, 4, 5}, 3), (Shape{24, 5, 1}));
  EXPECT_EQ(around_axis({7}, 0), (Shape{1, 7, 1}));
}

}  // namespace
}  // namespace traingraph::metal
