// SPDX-License-Identifier: MIT
// Shapes, errors and gradient graphs of convolution.
#include "support/op_program.h"

namespace traingraph {
namespace {

constexpr OpKind kForward = OpKind::Convolution2d;
constexpr OpKind kInputGradient = OpKind::Convolution2dInputGradient;
constexpr OpKind kWeightsGradient = OpKind::Convolution2dWeightsGradient;

class Convolution : public OpProgramTest {};

TEST_F(Convolution, FollowsTheExtentFormula) {
  EXPECT_EQ(shape_of(kForward, Convolution2dAttrs{},
                     inputs({{2, 3, 8, 9}, {4, 3, 3, 3}})),
            (Shape{2, 4, 6, 7}));
  EXPECT_EQ(shape_of(kForward,
                     Convolution2dAttrs{.strides = {2, 3},
                                        .dilation_rates = {2, 1},
                                        .padding = {1, 2, 3, 4}},
                     inputs({{2, 3, 8, 9}, {4, 3, 3, 2}})),
            (Shape{2, 4, (8 + 3 - 5) / 2 + 1, (9 + 7 - 2) / 3 + 1}));
}

TEST_F(Convolution, TakesABiasPerOutputChannel) {
  EXPECT_EQ(shape_of(kForward, Convolution2dAttrs{},
                     inputs({{2, 3, 8, 8}, {4, 3, 1, 1}, {4}})),
            (Shape{2, 4, 8, 8}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(kForward, Convolution2dAttrs{},
                                    inputs({{2, 3, 8, 8}, {4, 3, 1, 1}, {3}})),
               {"bias", "expected (4), got (3)"}));
}

TEST_F(Convolution, GroupsSplitTheChannels) {
  EXPECT_EQ(shape_of(kForward, Convolution2dAttrs{.groups = 2},
                     inputs({{2, 4, 8, 8}, {6, 2, 1, 1}})),
            (Shape{2, 6, 8, 8}));
  EXPECT_EQ(shape_of(kForward, Convolution2dAttrs{.groups = 4},
                     inputs({{2, 4, 8, 8}, {8, 1, 1, 1}})),
            (Shape{2, 8, 8, 8}));
}

TEST_F(Convolution, NamesTheChannelsThatDoNotMatch) {
  EXPECT_EQ(error_of<ShapeError>(kForward, Convolution2dAttrs{},
                                 inputs({{2, 4, 8, 8}, {64, 3, 7, 7}})),
            "[convolution_2d \"node\"] input channels do not match weights "
            "(64, 3, 7, 7): expected 3, got 4. Check the data layout (NCHW). "
            "Weights are (output channels, input channels / groups, height, "
            "width).");
  EXPECT_TRUE(
      contains(error_of<ShapeError>(kForward, Convolution2dAttrs{.groups = 2},
                                    inputs({{2, 4, 8, 8}, {4, 4, 1, 1}})),
               {"expected 4 in each of 2 groups, got 2"}));
}

TEST_F(Convolution, RefusesGroupsThatDoNotDivide) {
  EXPECT_TRUE(
      contains(error_of<ShapeError>(kForward, Convolution2dAttrs{.groups = 2},
                                    inputs({{2, 3, 8, 8}, {4, 1, 1, 1}})),
               {"input channels", "a multiple of 2", "got 3"}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(kForward, Convolution2dAttrs{.groups = 2},
                                    inputs({{2, 4, 8, 8}, {5, 2, 1, 1}})),
               {"output channels", "a multiple of 2", "got 5"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(kForward, Convolution2dAttrs{.groups = 0},
                                inputs({{2, 4, 8, 8}, {4, 4, 1, 1}})),
      {"groups", "at least 1", "got 0"}));
}

TEST_F(Convolution, RefusesAKernelThatDoesNotFit) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(
          kForward,
          Convolution2dAttrs{.dilation_rates = {1, 4}, .padding = {0, 0, 1, 0}},
          inputs({{2, 3, 8, 7}, {4, 3, 3, 3}})),
      {"does not fit the width", "at least 9 padded samples",
       "3 taps at dilation 4", "got 7 + 1 of padding", "Use more"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(kForward, Convolution2dAttrs{.strides = {4, 4}},
                           inputs({{2, 3, 2, 8}, {4, 3, 3, 3}})),
      {"does not fit the height", "got 2 + 0"}));
}

TEST_F(Convolution, RefusesBadAttributes) {
  const auto error = [&](Convolution2dAttrs attrs) {
    return error_of<InvalidArgument>(kForward, attrs,
                                     inputs({{2, 3, 8, 8}, {4, 3, 3, 3}}));
  };
  EXPECT_TRUE(contains(error({.strides = {0, 1}}), {"strides", "(0, 1)"}));
  EXPECT_TRUE(
      contains(error({.dilation_rates = {1, 0}}), {"dilation", "(1, 0)"}));
  EXPECT_TRUE(contains(error({.padding = {0, -1, 0, 0}}),
                       {"padding", "(0, -1, 0, 0)"}));
  // Sizes whose products would overflow.
  EXPECT_TRUE(contains(error({.dilation_rates = {INT64_MAX, 1}}),
                       {"dilation_rates out of range"}));
}

TEST_F(Convolution, RefusesOtherRanks) {
  EXPECT_TRUE(contains(error_of<ShapeError>(kForward, Convolution2dAttrs{},
                                            inputs({{2, 3, 8}, {4, 3, 3, 3}})),
                       {"\"x\"", "expected 4 axes, got 3 axes (2, 3, 8)"}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(kForward, Convolution2dAttrs{},
                                    inputs({{2, 3, 8, 8}, {1, 12, 3, 3, 1}})),
               {"\"weights\"", "expected 4 axes"}));
}

TEST_F(Convolution, GradientsHaveTheShapeOfTheirAttribute) {
  // 8 and 7 samples give the same number of strided windows: the gradient ops
  // are told which.
  for (std::int64_t extent : {7, 8}) {
    const Convolution2dGradientAttrs attrs{.strides = {2, 2},
                                           .shape = {2, 3, extent, extent}};
    EXPECT_EQ(
        shape_of(kInputGradient, attrs, inputs({{2, 4, 3, 3}, {4, 3, 3, 3}})),
        attrs.shape);
    const Convolution2dGradientAttrs weights_attrs{.strides = {2, 2},
                                                   .shape = {4, 3, 3, 3}};
    EXPECT_EQ(shape_of(kWeightsGradient, weights_attrs,
                       inputs({{2, 4, 3, 3}, {2, 3, extent, extent}})),
              weights_attrs.shape);
  }
}

TEST_F(Convolution, GradientsRefuseAGradientOfAnotherShape) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(kInputGradient,
                           Convolution2dGradientAttrs{.shape = {2, 3, 8, 8}},
                           inputs({{2, 4, 6, 5}, {4, 3, 3, 3}})),
      {"gradient", "expected (2, 4, 6, 6), got (2, 4, 6, 5)"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(kWeightsGradient,
                           Convolution2dGradientAttrs{.shape = {4, 3, 3, 3}},
                           inputs({{1, 4, 6, 6}, {2, 3, 8, 8}})),
      {"gradient", "expected (2, 4, 6, 6), got (1, 4, 6, 6)"}));
}

TEST_F(Convolution, GradientsRefuseABadShapeAttribute) {
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(kInputGradient, Convolution2dGradientAttrs{},
                                inputs({{2, 4, 6, 6}, {4, 3, 3, 3}})),
      {"shape", "4 sizes (N, C, H, W)", "got ()"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          kInputGradient, Convolution2dGradientAttrs{.shape = {2, 3, -1, 8}},
          inputs({{2, 4, 6, 6}, {4, 3, 3, 3}})),
      {"shape", "(2, 3, -1, 8)"}));
}

TEST_F(Convolution, GradientIsTwoConvolutionsAndASum) {
  const Convolution2dAttrs attrs{.strides = {2, 1},
                                 .dilation_rates = {1, 2},
                                 .padding = {1, 0, 2, 1},
                                 .groups = 2};
  const auto in = inputs({{2, 4, 8, 8}, {6, 2, 3, 3}, {6}});
  const ValueId y = append_one(kForward, attrs, in);
  const ValueId seed = input(program_.shape(y));
  const auto map = gradients(y, seed, in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"convolution_2d_input_gradient(%4, %1) -> (2, 4, 8, 8)",
                   "convolution_2d_weights_gradient(%4, %0) -> (6, 2, 3, 3)",
                   "reduce(%4) -> (1, 6, 1, 1)", "reshape(%7) -> (6)"}));
  for (ValueId value : {in[0], in[1]}) {
    const auto& held =
        attrs_of_producer<Convolution2dGradientAttrs>(map.at(value));
    EXPECT_EQ(held.strides, attrs.strides);
    EXPECT_EQ(held.dilation_rates, attrs.dilation_rates);
    EXPECT_EQ(held.padding, attrs.padding);
    EXPECT_EQ(held.groups, attrs.groups);
  }
  EXPECT_EQ(attrs_of_producer<ReduceAttrs>(7),
            (ReduceAttrs{ReductionType::Sum, {0, 2, 3}}));
}

TEST_F(Convolution, GradientIsMadeOnlyForWantedInputs) {
  const auto in = inputs({{2, 3, 8, 8}, {4, 3, 3, 3}, {4}});
  const ValueId y = append_one(kForward, Convolution2dAttrs{}, in);
  gradients(y, input(program_.shape(y)), {in[1]});
  EXPECT_EQ(gradient_nodes(),
            (Lines{"convolution_2d_weights_gradient(%4, %0) -> (4, 3, 3, 3)"}));
}

TEST_F(Convolution, TransposedConvolutionHasAGradient) {
  const auto in = inputs({{2, 4, 5, 5}, {4, 3, 3, 3}});
  const ValueId y = append_one(
      kInputGradient,
      Convolution2dGradientAttrs{
          .strides = {2, 2}, .padding = {0, 1, 0, 1}, .shape = {2, 3, 10, 10}},
      in);
  const auto map = gradients(y, input({2, 3, 10, 10}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"convolution_2d(%3, %1, _) -> (2, 4, 5, 5)",
                   "convolution_2d_weights_gradient(%0, %3) -> (4, 3, 3, 3)"}));
  EXPECT_EQ(attrs_of_producer<Convolution2dAttrs>(map.at(in[0])),
            (Convolution2dAttrs{.strides = {2, 2}, .padding = {0, 1, 0, 1}}));
}

TEST_F(Convolution, WeightsGradientHasAGradient) {
  const auto in = inputs({{2, 4, 6, 6}, {2, 3, 8, 8}});
  const ValueId y = append_one(
      kWeightsGradient, Convolution2dGradientAttrs{.shape = {4, 3, 3, 3}}, in);
  gradients(y, input({4, 3, 3, 3}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"convolution_2d(%1, %3, _) -> (2, 4, 6, 6)",
                   "convolution_2d_input_gradient(%0, %3) -> (2, 3, 8, 8)"}));
}

}  // namespace
}  // namespace traingraph
