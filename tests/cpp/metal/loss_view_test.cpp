// SPDX-License-Identifier: MIT
#include "metal/ops/loss_view.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

using enum LossType;

TEST(LossView, KeepsTheAxesThatLossesSumOver) {
  const Shape image{8, 3, 5, 7};
  EXPECT_EQ(loss_axes(SoftmaxCrossEntropy, image), Shape({1}));
  EXPECT_EQ(kept_loss_shape(SoftmaxCrossEntropy, image), Shape({8, 1, 5, 7}));
  EXPECT_EQ(loss_axes(CosineDistance, image), Shape({1, 2, 3}));
  EXPECT_EQ(kept_loss_shape(CosineDistance, image), Shape({8, 1, 1, 1}));
  EXPECT_EQ(loss_axes(Huber, image), Shape());
  EXPECT_EQ(kept_loss_shape(Huber, image), image);
}

TEST(LossView, WeightsGetTheAxesThatLossesSumOver) {
  const auto weights = [](const Shape& shape) {
    return kept_weights_shape(CategoricalCrossEntropy, {8, 3, 5, 7}, shape);
  };
  EXPECT_EQ(weights({8, 5, 7}), Shape({8, 1, 5, 7}));
  EXPECT_EQ(weights({8, 1, 5, 7}), Shape({8, 1, 5, 7}));
  EXPECT_EQ(weights({8, 1, 1, 1}), Shape({8, 1, 1, 1}));
  EXPECT_EQ(weights({8, 1, 1}), Shape({8, 1, 1, 1}));
  EXPECT_EQ(weights({8}), Shape({8, 1, 1, 1}));
  EXPECT_EQ(weights({5, 7}), Shape({1, 1, 5, 7}));
  EXPECT_EQ(weights({7}), Shape({1, 1, 1, 7}));
  EXPECT_EQ(weights({1}), Shape({1, 1, 1, 1}));
  EXPECT_EQ(weights({}), Shape({1, 1, 1, 1}));
}

TEST(LossView, WeightsOfOtherLosses) {
  EXPECT_EQ(kept_weights_shape(CosineDistance, {8, 3, 5}, {8}),
            Shape({8, 1, 1}));
  EXPECT_EQ(kept_weights_shape(CosineDistance, {8, 3, 5}, {8, 1, 1}),
            Shape({8, 1, 1}));
  EXPECT_EQ(kept_weights_shape(SoftmaxCrossEntropy, {8, 3}, {8, 1}),
            Shape({8, 1}));
  EXPECT_EQ(kept_weights_shape(MeanSquaredError, {8, 3}, {3}), Shape({1, 3}));
}

}  // namespace
}  // namespace traingraph::metal
