// SPDX-License-Identifier: MIT
// Shapes, errors, forms and gradient graphs of batch norm and softmax.
#include "support/op_program.h"

namespace traingraph {
namespace {

class BatchNorm : public OpProgramTest {
 protected:
  /// x, gamma, beta and the running statistics.
  std::vector<ValueId> batch_norm_inputs(Shape x, Shape channels) {
    return {input(x), input(channels), input(channels), variable(channels),
            variable(channels)};
  }
};

TEST_F(BatchNorm, GivesTheStatisticsOfEveryChannel) {
  const auto results = append(OpKind::BatchNorm, BatchNormAttrs{},
                              batch_norm_inputs({2, 3, 4, 5}, {3}));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(program_.shape(results[0]), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(program_.shape(results[1]), (Shape{3}));
  EXPECT_EQ(program_.shape(results[2]), (Shape{3}));
}

TEST_F(BatchNorm, TakesAnyRankAndNoScaleOrOffset) {
  const ValueId mean = variable({3});
  const ValueId variance = variable({3});
  EXPECT_EQ(shape_of(OpKind::BatchNorm, BatchNormAttrs{},
                     {input({8, 3}), kNoValue, kNoValue, mean, variance}),
            (Shape{8, 3}));
}

TEST_F(BatchNorm, RefusesOtherChannels) {
  auto in = batch_norm_inputs({2, 3, 4, 5}, {3});
  in[2] = input({1, 3, 1, 1});
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::BatchNorm, BatchNormAttrs{}, in),
               {"\"beta\"", "expected (3), got (1, 3, 1, 1)"}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::BatchNorm, BatchNormAttrs{},
                                            batch_norm_inputs({3}, {3})),
                       {"\"x\"", "expected at least 2 axes"}));
}

TEST_F(BatchNorm, RefusesBadAttributes) {
  const auto in = batch_norm_inputs({2, 3}, {3});
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::BatchNorm,
                                         BatchNormAttrs{.epsilon = -1}, in),
               {"epsilon", "got -1"}));
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::BatchNorm,
                                         BatchNormAttrs{.momentum = 1.5f}, in),
               {"momentum", "0 to 1", "got 1.5"}));
}

TEST_F(BatchNorm, OnlyTrainingWritesTheRunningStatistics) {
  append(OpKind::BatchNorm, BatchNormAttrs{}, batch_norm_inputs({2, 3}, {3}));
  Node node = program_.nodes().back();
  EXPECT_FALSE(mutates(node, 0));
  EXPECT_TRUE(mutates(node, 3));
  EXPECT_TRUE(mutates(node, 4));
  node.op->inference_form(node.attrs);
  EXPECT_FALSE(mutates(node, 3));
  EXPECT_EQ(std::get<BatchNormAttrs>(node.attrs),
            BatchNormAttrs{.training = false});
}

TEST_F(BatchNorm, GradientIsOneNode) {
  const auto in = batch_norm_inputs({2, 3, 4, 5}, {3});
  const auto results = append(OpKind::BatchNorm, BatchNormAttrs{}, in);
  const auto map = gradients(results[0], input({2, 3, 4, 5}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"batch_norm_gradient(%8, %0, %1, %6, %7) -> (2, 3, 4, 5), "
                   "(3), (3)"}));
  EXPECT_EQ(map.at(in[0]), 9);
  EXPECT_EQ(map.at(in[1]), 10);
  EXPECT_EQ(map.at(in[2]), 11);
  EXPECT_FALSE(map.contains(in[3]));
}

TEST_F(BatchNorm, StatisticsHaveGradientsInTraining) {
  const auto in = batch_norm_inputs({2, 3, 4, 5}, {3});
  const auto results = append(OpKind::BatchNorm, BatchNormAttrs{}, in);
  gradients(results[1], input({3}), {in[0]});
  EXPECT_EQ(gradient_nodes(),
            (Lines{"activation(%8) -> (3)", "reshape(%9) -> (1, 3, 1, 1)",
                   "broadcast_to(%10) -> (2, 3, 4, 5)"}));
  EXPECT_FLOAT_EQ(attrs_of_producer<ActivationAttrs>(9).a, 1.0f / 40);
  gradients(results[2], input({3}), {in[0]});
  EXPECT_EQ(
      gradient_nodes(),
      (Lines{"reshape(%6) -> (1, 3, 1, 1)", "binary(%0, %13) -> (2, 3, 4, 5)",
             "activation(%12) -> (3)", "reshape(%15) -> (1, 3, 1, 1)",
             "binary(%14, %16) -> (2, 3, 4, 5)"}));
}

TEST_F(BatchNorm, StatisticsAreConstantsInInference) {
  const auto in = batch_norm_inputs({2, 3, 4, 5}, {3});
  const auto results =
      append(OpKind::BatchNorm, BatchNormAttrs{.training = false}, in);
  EXPECT_FALSE(gradients(results[1], input({3}), {in[0]}).contains(in[0]));
  EXPECT_TRUE(gradient_nodes().empty());
}

TEST_F(BatchNorm, GradientOpChecksItsShapes) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(
          OpKind::BatchNormGradient, BatchNormAttrs{},
          {input({2, 3}), input({2, 4}), kNoValue, input({4}), input({4})}),
      {"\"gradient\" must have the shape of \"x\"", "(2, 4)", "(2, 3)"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(
          OpKind::BatchNormGradient, BatchNormAttrs{},
          {input({2, 4}), input({2, 4}), kNoValue, input({4}), input({3})}),
      {"\"variance\"", "expected (4), got (3)"}));
}

class Softmax : public OpProgramTest {};

TEST_F(Softmax, KeepsTheShape) {
  EXPECT_EQ(shape_of(OpKind::Softmax, SoftmaxAttrs{}, inputs({{2, 3, 4}})),
            (Shape{2, 3, 4}));
}

TEST_F(Softmax, RefusesAnAxisThatIsNotThere) {
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::Softmax, SoftmaxAttrs{.axis = 3},
                                inputs({{2, 3, 4}})),
      {"axis", "0 to 2", "got 3"}));
  EXPECT_TRUE(contains(error_of<InvalidArgument>(OpKind::SoftmaxGradient,
                                                 SoftmaxAttrs{.axis = -1},
                                                 inputs({{2, 3}, {2, 3}})),
                       {"axis", "got -1"}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::SoftmaxGradient, SoftmaxAttrs{},
                                    inputs({{2, 3}, {2, 4}})),
               {"\"gradient\" must have the shape of \"y\""}));
}

TEST_F(Softmax, GradientReadsTheResult) {
  const ValueId x = input({2, 3});
  const SoftmaxAttrs attrs{.operation = SoftmaxOperation::LogSoftmax,
                           .axis = 0};
  const ValueId y = append_one(OpKind::Softmax, attrs, {x});
  const auto map = gradients(y, input({2, 3}), {x});
  EXPECT_EQ(gradient_nodes(), (Lines{"softmax_gradient(%2, %1) -> (2, 3)"}));
  EXPECT_EQ(attrs_of_producer<SoftmaxAttrs>(map.at(x)), attrs);
}

}  // namespace
}  // namespace traingraph
