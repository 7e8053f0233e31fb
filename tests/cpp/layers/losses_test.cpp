// SPDX-License-Identifier: MIT
#include "traingraph/losses.h"

#include <gtest/gtest.h>

#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"

namespace traingraph {
namespace {

using losses::Loss;

Tensor input(Shape shape) { return Tensor({.shape = shape}); }

Shape result_shape(LayerPtr loss, Shape shape) {
  return Graph()
      .node(std::move(loss), input(shape), {.loss_labels = {input(shape)}})
      .shape();
}

LossDescriptor unreduced() { return {.reduction_type = ReductionType::None}; }

TEST(Losses, NamedLossesHaveTypeAndLabel) {
  const auto expect = [](const Loss& loss, LossType type, const char* label) {
    EXPECT_EQ(loss.descriptor().loss_type, type);
    EXPECT_EQ(loss.descriptor().reduction_type, ReductionType::Mean);
    EXPECT_EQ(loss.name(), label);
    EXPECT_TRUE(loss.is_loss());
    EXPECT_TRUE(loss.extra_sources().empty());
  };
  using enum LossType;
  expect(losses::MeanAbsoluteError(), MeanAbsoluteError, "mean_absolute_error");
  expect(losses::MeanSquaredError(), MeanSquaredError, "mean_squared_error");
  expect(losses::SoftmaxCrossEntropy(), SoftmaxCrossEntropy,
         "softmax_cross_entropy");
  expect(losses::SigmoidCrossEntropy(), SigmoidCrossEntropy,
         "sigmoid_cross_entropy");
  expect(losses::CategoricalCrossEntropy(), CategoricalCrossEntropy,
         "categorical_cross_entropy");
  expect(losses::Hinge(), Hinge, "hinge");
  expect(losses::Huber(), Huber, "huber");
  expect(losses::CosineDistance(), CosineDistance, "cosine_distance");
  expect(losses::Log(), Log, "log");
  expect(losses::KullbackLeiblerDivergence(), KullbackLeiblerDivergence,
         "kullback_leibler_divergence");
  expect(Loss({.loss_type = Huber}), Huber, "loss");
}

TEST(Losses, Shapes) {
  EXPECT_EQ(result_shape(std::make_shared<losses::Huber>(), {4, 3}),
            (Shape{1}));
  EXPECT_EQ(result_shape(std::make_shared<losses::Huber>(unreduced()), {4, 3}),
            (Shape{4, 3}));
  EXPECT_EQ(
      result_shape(std::make_shared<losses::SoftmaxCrossEntropy>(unreduced()),
                   {4, 3, 2, 2}),
      (Shape{4, 2, 2}));
  EXPECT_EQ(result_shape(std::make_shared<losses::CosineDistance>(unreduced()),
                         {4, 3}),
            (Shape{4}));
}

TEST(Losses, OptionsReachTheOp) {
  Graph graph;
  const LossDescriptor options{.reduction_type = ReductionType::Sum,
                               .weight = 2,
                               .label_smoothing = 0.5f,
                               .class_count = 7};
  graph.node(std::make_shared<losses::SoftmaxCrossEntropy>(options),
             input({4, 7}), {.loss_labels = {input({4, 7})}});
  const LossAttrs expected{.type = LossType::SoftmaxCrossEntropy,
                           .reduction = ReductionType::Sum,
                           .weight = 2,
                           .label_smoothing = 0.5f,
                           .class_count = 7};
  EXPECT_EQ(std::get<LossAttrs>(graph.state()->program.node(0).attrs),
            expected);
}

TEST(Losses, WeightsMayBeASourceOfTheNode) {
  Graph graph;
  const Tensor y = input({4, 3}), t = input({4, 3}), w = input({4, 1});
  const auto loss = std::make_shared<losses::MeanSquaredError>();
  EXPECT_NO_THROW(graph.node(loss, {y, t, w}));
  EXPECT_THROW(graph.node(loss, {y, t, w, w}), InvalidArgument);
  EXPECT_THROW(graph.node(loss, {y}), InvalidArgument);
  EXPECT_THROW(graph.node(loss, {y, input({4, 2})}), ShapeError);
}

TEST(Losses, RefuseBadDescriptors) {
  const auto refused = [](LossDescriptor descriptor) {
    EXPECT_THROW(Loss{descriptor}, InvalidArgument);
  };
  refused({.loss_type = LossType{77}});
  refused({.reduction_type = ReductionType::Max});
  refused({.weight = 1.0f / 0.0f});
  refused({.label_smoothing = 1.5f});
  refused({.class_count = 0});
  refused({.epsilon = -1});
  refused({.delta = 0});
}

}  // namespace
}  // namespace traingraph
