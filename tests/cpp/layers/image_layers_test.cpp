// SPDX-License-Identifier: MIT
// Convolution and pooling layers: extents of every policy, parameters, ops.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "graph/op_def.h"
#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using layers::AveragePooling;
using layers::Convolution;
using layers::L2NormPooling;
using layers::MaxPooling;
using layers::Pooling;
using enum PaddingPolicy;

Tensor input(Shape shape) { return Tensor({.shape = shape}); }

Shape shape_after(LayerPtr layer, Shape shape) {
  return Graph().node(std::move(layer), input(shape)).shape();
}

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& e) {
    return e.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

ConvolutionDescriptor conv(Pair kernel, Pair strides, PaddingPolicy policy,
                           Pair padding = {}, Pair dilation = {1, 1}) {
  return {.kernel_size = kernel,
          .input_feature_channel_count = 4,
          .output_feature_channel_count = 6,
          .strides = strides,
          .dilation_rates = dilation,
          .padding_policy = policy,
          .padding_sizes = padding};
}

Shape convolved(ConvolutionDescriptor descriptor, Shape shape) {
  return shape_after(std::make_shared<Convolution>(descriptor), shape);
}

Shape transposed(ConvolutionDescriptor descriptor, Shape shape) {
  return convolved(ConvolutionDescriptor::transposed(descriptor), shape);
}

TEST(ConvolutionLayer, ExtentsPerPolicy) {
  EXPECT_EQ(convolved(conv({3, 5}, {1, 2}, Same), {2, 4, 7, 8}),
            (Shape{2, 6, 7, 4}));
  EXPECT_EQ(convolved(conv({3, 5}, {1, 2}, Valid), {2, 4, 7, 8}),
            (Shape{2, 6, 5, 2}));
  EXPECT_EQ(
      convolved(conv({3, 5}, {1, 2}, UsePaddingSize, {1, 3}), {2, 4, 7, 8}),
      (Shape{2, 6, 7, 5}));
  EXPECT_EQ(convolved(conv({3, 3}, {1, 1}, Valid, {}, {2, 3}), {2, 4, 7, 8}),
            (Shape{2, 6, 3, 2}));
  EXPECT_EQ(shape_after(std::make_shared<Convolution>(1, 32, 3), {64, 1, 8, 8}),
            (Shape{64, 32, 8, 8}));
}

TEST(ConvolutionLayer, SamePadsTheRestAfter) {
  Graph graph;
  graph.node(std::make_shared<Convolution>(conv({4, 3}, {1, 2}, Same)),
             input({1, 4, 5, 8}));
  const auto& attrs =
      std::get<Convolution2dAttrs>(graph.state()->program.node(0).attrs);
  EXPECT_EQ(attrs.padding, (Padding{1, 2, 0, 1}));
}

TEST(ConvolutionLayer, TransposedExtentsPerPolicy) {
  EXPECT_EQ(transposed(conv({3, 5}, {2, 3}, Same), {2, 4, 7, 8}),
            (Shape{2, 6, 14, 24}));
  EXPECT_EQ(transposed(conv({1, 2}, {3, 3}, Same), {2, 4, 7, 8}),
            (Shape{2, 6, 21, 24}));
  EXPECT_EQ(transposed(conv({3, 5}, {2, 3}, Valid), {2, 4, 7, 8}),
            (Shape{2, 6, 15, 26}));
  EXPECT_EQ(
      transposed(conv({3, 5}, {2, 3}, UsePaddingSize, {1, 2}), {2, 4, 7, 8}),
      (Shape{2, 6, 13, 22}));
  EXPECT_EQ(transposed(conv({3, 3}, {2, 2}, Valid, {}, {2, 1}), {2, 4, 7, 8}),
            (Shape{2, 6, 17, 17}));
  const ErrorInfo info = error_of<ShapeError>([] {
    transposed(conv({3, 3}, {1, 1}, UsePaddingSize, {2, 0}), {2, 4, 2, 8});
  });
  EXPECT_EQ(info.node, "convolution");
  EXPECT_EQ(info.got, "0");
}

TEST(ConvolutionLayer, ShapesOfWeights) {
  EXPECT_EQ(Convolution(conv({3, 5}, {1, 1}, Same)).weights().shape(),
            (Shape{6, 4, 3, 5}));
  auto grouped = conv({3, 5}, {1, 1}, Same);
  grouped.group_count = 2;
  EXPECT_EQ(Convolution(grouped).weights().shape(), (Shape{6, 2, 3, 5}));
  EXPECT_EQ(convolved(grouped, {2, 4, 7, 8}), (Shape{2, 6, 7, 8}));
  EXPECT_EQ(transposed(grouped, {2, 4, 7, 8}), (Shape{2, 6, 7, 8}));
  EXPECT_EQ(
      Convolution(ConvolutionDescriptor::transposed(grouped)).weights().shape(),
      (Shape{6, 2, 3, 5}));
  const auto depthwise = ConvolutionDescriptor::depthwise(
      {.kernel_size = {3, 3}, .input_feature_channel_count = 4}, 3);
  EXPECT_EQ(depthwise.output_feature_channel_count, 12);
  EXPECT_TRUE(depthwise.uses_depthwise_convolution());
  EXPECT_EQ(Convolution(depthwise).weights().shape(), (Shape{12, 1, 3, 3}));
  EXPECT_EQ(convolved(depthwise, {2, 4, 7, 8}), (Shape{2, 12, 7, 8}));
}

TEST(ConvolutionLayer, TakesMlComputesShapes) {
  for (const bool is_transposed : {false, true}) {
    auto descriptor = conv({3, 5}, {1, 1}, Same);
    if (is_transposed) {
      descriptor = ConvolutionDescriptor::transposed(descriptor);
    }
    const auto layer = std::make_shared<Convolution>(
        descriptor, WeightOptions{.weights = input({1, 24, 3, 5}),
                                  .biases = input({1, 6, 1, 1})});
    EXPECT_EQ(shape_after(layer, {2, 4, 7, 8}), (Shape{2, 6, 7, 8}));
  }
}

// A batch as large as the channels must not look like the batch in the shapes
// that reshape weights: those have -1 on axis 0.
TEST(ConvolutionLayer, RefusesBadDescriptorsAndParameters) {
  const auto bad = [](auto change) {
    auto descriptor = conv({3, 3}, {1, 1}, Same);
    change(descriptor);
    return error_of<InvalidArgument>([&] { Convolution{descriptor}; }).what;
  };
  using D = ConvolutionDescriptor;
  EXPECT_EQ(bad([](D& d) { d.kernel_size = {0, 3}; }),
            "kernel_size is out of range");
  EXPECT_EQ(bad([](D& d) { d.strides = {1, 0}; }), "strides is out of range");
  EXPECT_EQ(bad([](D& d) { d.dilation_rates = {0, 1}; }),
            "dilation_rates is out of range");
  EXPECT_EQ(bad([](D& d) { d.padding_sizes = {-1, 1}; }),
            "padding_sizes is out of range");
  EXPECT_EQ(bad([](D& d) { d.group_count = 3; }),
            "input_feature_channel_count is out of range");
  EXPECT_EQ(bad([](D& d) { d.input_feature_channel_count = -1; }),
            "input_feature_channel_count is out of range");
  EXPECT_EQ(bad([](D& d) { d.convolution_type = ConvolutionType::Depthwise; }),
            "output_feature_channel_count is out of range");

  const ErrorInfo info = error_of<ShapeError>([] {
    Convolution(conv({3, 5}, {1, 1}, Same),
                {.weights = Tensor({.shape = {4, 6, 3, 5}}, "w")});
  });
  EXPECT_EQ(info.op, "Convolution");
  EXPECT_EQ(info.node, "w");
  EXPECT_EQ(info.expected, "(6, 4, 3, 5) or (1, 24, 3, 5)");
  EXPECT_EQ(info.got, "(4, 6, 3, 5)");
}

TEST(ConvolutionLayer, RefusesSourcesThatDoNotFit) {
  const auto layer = std::make_shared<Convolution>(conv({3, 3}, {1, 1}, Valid));
  layer->set_name("stem");
  const ErrorInfo info =
      error_of<ShapeError>([&] { shape_after(layer, {2, 3, 8, 8}); });
  EXPECT_EQ(info.node, "stem");
  EXPECT_EQ(info.expected, "(N, 4, H, W), or (N, 4, L)");
  EXPECT_EQ(info.got, "(2, 3, 8, 8)");
  EXPECT_THROW(shape_after(layer, {4, 8}), ShapeError);
  // A kernel of height 3 does not fit a sequence.
  EXPECT_THROW(shape_after(layer, {2, 4, 8}), InvalidArgument);
  EXPECT_THROW(shape_after(layer, {2, 4, 2, 8}), ShapeError);  // kernel 3
}

TEST(PoolingLayer, ExtentsPerPolicyAndType) {
  for (const PoolingType type :
       {PoolingType::Max, PoolingType::Average, PoolingType::L2Norm}) {
    const auto pooled = [&](PaddingPolicy policy, Pair padding) {
      return shape_after(std::make_shared<Pooling>(
                             PoolingDescriptor{.pooling_type = type,
                                               .kernel_size = {3, 2},
                                               .strides = {2, 1},
                                               .padding_policy = policy,
                                               .padding_sizes = padding}),
                         {2, 4, 7, 8});
    };
    EXPECT_EQ(pooled(Same, {}), (Shape{2, 4, 4, 8}));
    EXPECT_EQ(pooled(Valid, {}), (Shape{2, 4, 3, 7}));
    EXPECT_EQ(pooled(UsePaddingSize, {1, 0}), (Shape{2, 4, 4, 7}));
  }
}

TEST(PoolingLayer, Conveniences) {
  EXPECT_EQ(shape_after(std::make_shared<MaxPooling>(2), {1, 3, 8, 9}),
            (Shape{1, 3, 4, 4}));
  EXPECT_EQ(shape_after(std::make_shared<MaxPooling>(3, 1), {1, 3, 8, 9}),
            (Shape{1, 3, 6, 7}));
  EXPECT_EQ(
      shape_after(std::make_shared<AveragePooling>(Pair{2, 3}), {1, 3, 8, 9}),
      (Shape{1, 3, 4, 3}));
  EXPECT_EQ(shape_after(std::make_shared<L2NormPooling>(2, Same), {1, 3, 7, 9}),
            (Shape{1, 3, 4, 5}));
  EXPECT_EQ(MaxPooling(2).name(), "max_pooling");
  EXPECT_EQ(AveragePooling(2, Valid, true).descriptor(),
            PoolingDescriptor::average({.kernel_size = {2, 2},
                                        .strides = {2, 2},
                                        .padding_policy = Valid,
                                        .count_includes_padding = true}));
}

TEST(PoolingLayer, RefusesBadOptionsAndSources) {
  EXPECT_THROW(MaxPooling(0), InvalidArgument);
  EXPECT_THROW(MaxPooling(2, -1), InvalidArgument);
  EXPECT_THROW(MaxPooling(2, 0), InvalidArgument);
  EXPECT_THROW(AveragePooling(Pair{2, 2}, Pair{1, 0}), InvalidArgument);
  EXPECT_THROW(
      PoolingDescriptor::max({.kernel_size = {2, 2}, .dilation_rates = {0, 1}}),
      InvalidArgument);
  EXPECT_THROW(Pooling(PoolingDescriptor{.pooling_type = PoolingType{0}}),
               InvalidArgument);
  const ErrorInfo info = error_of<ShapeError>(
      [] { shape_after(std::make_shared<MaxPooling>(2), {8, 8}); });
  EXPECT_EQ(info.node, "max_pooling");
  EXPECT_EQ(info.expected, "(N, C, H, W), or (N, C, L)");
  EXPECT_THROW(shape_after(std::make_shared<MaxPooling>(9), {1, 1, 8, 8}),
               ShapeError);
}

TEST(ImageLayers, RefuseSizesTooLargeToMultiply) {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(layers::FullyConnected(kHuge, 6), ShapeError);
  EXPECT_THROW(layers::FullyConnected(kHuge / 2, 1), ShapeError);
  EXPECT_THROW(Convolution(3, kHuge, 1), ShapeError);
  EXPECT_THROW(Convolution(1, 4, 1 << 30), ShapeError);
  EXPECT_THROW(Convolution(1, 4, kHuge), InvalidArgument);
  EXPECT_THROW(MaxPooling(2, kHuge, Same), InvalidArgument);
  EXPECT_THROW(ConvolutionDescriptor::depthwise(
                   {.input_feature_channel_count = kHuge}, 2),
               ShapeError);
}

}  // namespace
}  // namespace traingraph
