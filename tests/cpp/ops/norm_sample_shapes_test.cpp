// SPDX-License-Identifier: MIT
// Shapes, errors, forms and gradient graphs of the normalizations of samples.
#include "support/op_program.h"

namespace traingraph {
namespace {

class SampleNorm : public OpProgramTest {
 protected:
  std::vector<Shape> shapes_of(Shape x, const SampleNormAttrs& attrs) {
    std::vector<Shape> shapes;
    for (ValueId id : append(OpKind::SampleNorm, attrs, {input(x)})) {
      shapes.push_back(program_.shape(id));
    }
    return shapes;
  }
};

TEST_F(SampleNorm, GivesTheStatisticsOfEveryRow) {
  EXPECT_EQ(shapes_of({2, 6, 4, 5}, {.groups = 3}),
            (std::vector<Shape>{{2, 6, 4, 5}, {2, 3, 1, 1}, {2, 3, 1, 1}}));
  EXPECT_EQ(shapes_of({2, 6, 4, 5}, {.axis = 2}),
            (std::vector<Shape>{{2, 6, 4, 5}, {2, 6, 1, 1}, {2, 6, 1, 1}}));
  EXPECT_EQ(shapes_of({5}, {.axis = 0}), (std::vector<Shape>{{5}, {1}, {1}}));
}

TEST_F(SampleNorm, ParametersAreByChannelOrByElement) {
  const ValueId x = input({2, 6, 4, 5});
  EXPECT_EQ(shape_of(OpKind::SampleNorm, SampleNormAttrs{.groups = 2},
                     {x, input({6}), input({6})}),
            (Shape{2, 6, 4, 5}));
  EXPECT_EQ(shape_of(OpKind::SampleNorm, SampleNormAttrs{.axis = 2},
                     {x, input({4, 5}), input({4, 5})}),
            (Shape{2, 6, 4, 5}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::SampleNorm, SampleNormAttrs{.axis = 2},
                           {x, kNoValue, input({6})}),
      {"\"beta\"", "expected (4, 5), got (6)"}));
}

TEST_F(SampleNorm, RefusesBadAttributes) {
  const std::vector<ValueId> x{input({2, 6, 4})};
  const auto error = [&](const SampleNormAttrs& attrs) {
    return error_of<InvalidArgument>(OpKind::SampleNorm, attrs, x);
  };
  EXPECT_TRUE(contains(error({.axis = 3}), {"axis", "0 to 2", "got 3"}));
  EXPECT_TRUE(contains(error({.groups = -1}), {"groups", "got -1"}));
  EXPECT_TRUE(contains(error({.groups = 4}),
                       {"groups do not divide axis 1", "a divisor of 6"}));
  EXPECT_TRUE(contains(error({.epsilon = -1}), {"epsilon", "got -1"}));
  EXPECT_TRUE(contains(error({.momentum = 2}), {"momentum", "0 to 1"}));
}

TEST_F(SampleNorm, RunningStatisticsAreAPairOfGroups) {
  const ValueId x = input({2, 6, 4});
  const ValueId mean = variable({3}), variance = variable({3});
  const std::vector<ValueId> in{x, kNoValue, kNoValue, mean, variance};
  EXPECT_TRUE(contains(error_of<InvalidArgument>(OpKind::SampleNorm,
                                                 SampleNormAttrs{.groups = 3},
                                                 {x, kNoValue, kNoValue, mean}),
                       {"come in pairs", "got running_mean"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::SampleNorm, SampleNormAttrs{}, in),
      {"belong to groups"}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::SampleNorm,
                                            SampleNormAttrs{.groups = 6}, in),
                       {"\"running_mean\"", "expected (6), got (3)"}));
  append(OpKind::SampleNorm, SampleNormAttrs{.groups = 3}, in);
  Node node = program_.nodes().back();
  EXPECT_TRUE(mutates(node, 3));
  EXPECT_TRUE(mutates(node, 4));
  node.op->inference_form(node.attrs);
  EXPECT_FALSE(mutates(node, 3));
}

TEST_F(SampleNorm, GradientIsOneNode) {
  const std::vector<ValueId> in{input({2, 6, 4}), input({6}), input({6})};
  const auto results =
      append(OpKind::SampleNorm, SampleNormAttrs{.groups = 3}, in);
  const auto map = gradients(results[0], input({2, 6, 4}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"sample_norm_gradient(%6, %0, %1, %4, %5) -> (2, 6, 4), "
                   "(6), (6)"}));
  EXPECT_EQ(map.at(in[0]), 7);
  EXPECT_EQ(map.at(in[1]), 8);
  EXPECT_EQ(map.at(in[2]), 9);
}

// The inference form changes statistics only where there are running ones.
TEST_F(SampleNorm, GradientKnowsWhetherStatisticsMove) {
  const SampleNormAttrs inference{.groups = 3, .training = false};
  const ValueId x = input({2, 6, 4}), g = input({2, 6, 4});
  const ValueId plain = append(OpKind::SampleNorm, inference, {x})[0];
  EXPECT_TRUE(attrs_of_producer<SampleNormAttrs>(gradients(plain, g, {x}).at(x))
                  .training);
  const auto given =
      append(OpKind::SampleNorm, inference,
             {x, kNoValue, kNoValue, variable({3}), variable({3})});
  EXPECT_FALSE(
      attrs_of_producer<SampleNormAttrs>(gradients(given[0], g, {x}).at(x))
          .training);
  EXPECT_FALSE(gradients(given[1], input({2, 3, 1}), {x}).contains(x));
}

TEST_F(SampleNorm, GradientOpChecksItsShapes) {
  const auto error = [&](std::initializer_list<Shape> shapes) {
    return error_of<ShapeError>(OpKind::SampleNormGradient,
                                SampleNormAttrs{.groups = 2}, inputs(shapes));
  };
  EXPECT_TRUE(contains(
      error({{2, 3}, {2, 4}, {4}, {2, 2}, {2, 2}}),
      {"\"gradient\" must have the shape of \"x\"", "(2, 4)", "(2, 3)"}));
  EXPECT_TRUE(contains(error({{2, 4}, {2, 4}, {4}, {2, 2}, {2, 4}}),
                       {"\"variance\"", "expected (2, 2), got (2, 4)"}));
  EXPECT_TRUE(contains(error({{2, 4}, {2, 4}, {2}, {2, 2}, {2, 2}}),
                       {"\"gamma\"", "expected (4), got (2)"}));
}

}  // namespace
}  // namespace traingraph
