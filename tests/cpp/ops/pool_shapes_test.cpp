// SPDX-License-Identifier: MIT
// Shapes, errors and gradient graphs of pooling.
#include "support/op_program.h"

namespace traingraph {
namespace {

class Pooling : public OpProgramTest {};

TEST_F(Pooling, FollowsTheExtentFormula) {
  EXPECT_EQ(shape_of(OpKind::MaxPool2d,
                     Pool2dAttrs{.kernel_size = {2, 3},
                                 .strides = {2, 1},
                                 .dilation_rates = {1, 2},
                                 .padding = {1, 0, 2, 1}},
                     inputs({{2, 3, 8, 9}})),
            (Shape{2, 3, (8 + 1 - 2) / 2 + 1, (9 + 3 - 5) / 1 + 1}));
  EXPECT_EQ(
      shape_of(OpKind::AveragePool2d, AveragePool2dAttrs{.kernel_size = {8, 8}},
               inputs({{2, 3, 8, 8}})),
      (Shape{2, 3, 1, 1}));
}

TEST_F(Pooling, MaxPoolingKeepsOpaqueState) {
  const auto results =
      append(OpKind::MaxPool2d, Pool2dAttrs{.kernel_size = {2, 2}},
             inputs({{2, 3, 8, 8}}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_FALSE(program_.value(results[0]).is_opaque);
  EXPECT_TRUE(program_.value(results[1]).is_opaque);
}

TEST_F(Pooling, RefusesAKernelThatDoesNotFit) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::MaxPool2d,
                           Pool2dAttrs{.kernel_size = {3, 9}},
                           inputs({{2, 3, 8, 8}})),
      {"does not fit the width", "at least 9 padded samples", "got 8 + 0"}));
}

TEST_F(Pooling, RefusesWindowsOfPaddingOnly) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(
          OpKind::AveragePool2d,
          AveragePool2dAttrs{.kernel_size = {2, 2}, .padding = {0, 2, 0, 0}},
          inputs({{2, 3, 8, 8}})),
      {"window of the height reads only padding", "padded by 0 and 2"}));
  // Taps 3 apart straddle a single sample.
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::MaxPool2d,
                           Pool2dAttrs{.kernel_size = {1, 2},
                                       .dilation_rates = {1, 3},
                                       .padding = {0, 0, 1, 2}},
                           inputs({{2, 3, 8, 1}})),
      {"window of the width reads only padding", "smaller dilation rate"}));
}

TEST_F(Pooling, RefusesBadAttributes) {
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::MaxPool2d,
                                         Pool2dAttrs{.kernel_size = {0, 2}},
                                         inputs({{2, 3, 8, 8}})),
               {"kernel_size", "(0, 2)"}));
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::AveragePool2d,
                                         AveragePool2dAttrs{.strides = {2, -2}},
                                         inputs({{2, 3, 8, 8}})),
               {"strides", "(2, -2)"}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::MaxPool2d, Pool2dAttrs{},
                                            inputs({{3, 8, 8}})),
                       {"expected 4 axes"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::AveragePool2dGradient,
                                AveragePool2dGradientAttrs{.shape = {8, 8}},
                                inputs({{2, 3, 8, 8}})),
      {"4 sizes (N, C, H, W)", "got (8, 8)"}));
}

TEST_F(Pooling, GradientsRefuseAGradientOfAnotherShape) {
  const auto pooled =
      append(OpKind::MaxPool2d, Pool2dAttrs{.kernel_size = {2, 2}},
             {input({2, 3, 8, 8})});
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::MaxPool2dGradient,
                                    Pool2dAttrs{.kernel_size = {2, 2}},
                                    {input({2, 3, 8, 8}), 0, pooled[1]}),
               {"gradient", "expected (2, 3, 7, 7), got (2, 3, 8, 8)"}));
}

TEST_F(Pooling, MaxPoolingGradientReadsTheState) {
  const Pool2dAttrs attrs{.kernel_size = {2, 2}, .strides = {2, 2}};
  const ValueId x = input({2, 3, 8, 8});
  const auto results = append(OpKind::MaxPool2d, attrs, {x});
  const auto map = gradients(results[0], input({2, 3, 4, 4}), {x});
  EXPECT_EQ(gradient_nodes(),
            (Lines{"max_pool_2d_gradient(%3, %0, %2) -> (2, 3, 8, 8)"}));
  EXPECT_EQ(attrs_of_producer<Pool2dAttrs>(map.at(x)), attrs);
}

TEST_F(Pooling, AveragePoolingIsDifferentiableTwice) {
  const ValueId x = input({2, 3, 9, 9});
  const ValueId y =
      append_one(OpKind::AveragePool2d,
                 AveragePool2dAttrs{.kernel_size = {2, 2},
                                    .strides = {2, 2},
                                    .count_includes_padding = true},
                 {x});
  const ValueId seed = input({2, 3, 4, 4});
  const ValueId dx = gradients(y, seed, {x}).at(x);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"average_pool_2d_gradient(%2) -> (2, 3, 9, 9)"}));
  EXPECT_TRUE(
      attrs_of_producer<AveragePool2dGradientAttrs>(dx).count_includes_padding);
  const ValueId again = gradients(dx, input({2, 3, 9, 9}), {seed}).at(seed);
  EXPECT_EQ(gradient_nodes(), (Lines{"average_pool_2d(%4) -> (2, 3, 4, 4)"}));
  EXPECT_EQ(attrs_of_producer<AveragePool2dAttrs>(again),
            attrs_of_producer<AveragePool2dAttrs>(y));
}

}  // namespace
}  // namespace traingraph
