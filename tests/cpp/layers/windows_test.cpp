// SPDX-License-Identifier: MIT
// Layers of windows over sequences and in ceil mode, and the layers beside
// them: upsampling and Gram matrices. What they lower to and refuse.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "layers/graph_state.h"
#include "traingraph/traingraph.h"

namespace traingraph {
namespace {

using namespace layers;  // NOLINT: tests

Shape shape_after(const std::shared_ptr<Layer>& layer, const Shape& source) {
  Graph graph;
  return graph.node(layer, Tensor({source}, "x")).shape();
}

/// Names of the ops that the layer becomes.
std::vector<std::string> ops_of(const std::shared_ptr<Layer>& layer,
                                const Shape& source) {
  Graph graph;
  graph.node(layer, Tensor({source}, "x"));
  std::vector<std::string> names;
  for (const Node& node : graph.state()->program.nodes()) {
    names.emplace_back(node.op->name);
  }
  return names;
}

/// What it throws says.
template <class ErrorType>
std::string refusal(const std::shared_ptr<Layer>& layer, const Shape& source) {
  try {
    shape_after(layer, source);
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::shared_ptr<Pooling> pooling(PoolingDescriptor descriptor) {
  return std::make_shared<Pooling>(descriptor);
}

TEST(CeilMode, CountsAWindowThatEndsBehindTheImage) {
  PoolingDescriptor d{.kernel_size = {3, 2},
                      .strides = {2, 2},
                      .padding_policy = PaddingPolicy::Valid};
  EXPECT_EQ(shape_after(pooling(d), {2, 3, 8, 7}), (Shape{2, 3, 3, 3}));
  d.ceil_mode = true;
  EXPECT_EQ(shape_after(pooling(d), {2, 3, 8, 7}), (Shape{2, 3, 4, 4}));
  // No window begins behind the image: of 5 samples the third begins at 6.
  d.strides = {3, 3};
  EXPECT_EQ(shape_after(pooling(d), {2, 3, 6, 5}), (Shape{2, 3, 2, 2}));
  const auto max = std::make_shared<MaxPooling>(
      Pair{3, 3}, Pair{2, 2}, PaddingPolicy::UsePaddingSize, Pair{1, 1},
      Pair{2, 1}, /*ceil_mode=*/true);
  EXPECT_EQ(max->descriptor().dilation_rates, (Pair{2, 1}));
  EXPECT_EQ(shape_after(max, {1, 1, 8, 8}), (Shape{1, 1, 4, 5}));
}

TEST(CeilMode, OnlyAnAverageThatCountsPaddingNeedsAnotherOp) {
  PoolingDescriptor d{.pooling_type = PoolingType::Average,
                      .kernel_size = {3, 3},
                      .strides = {2, 2},
                      .padding_policy = PaddingPolicy::UsePaddingSize,
                      .padding_sizes = {1, 1},
                      .ceil_mode = true};
  using Names = std::vector<std::string>;
  EXPECT_EQ(ops_of(pooling(d), {1, 1, 8, 8}), (Names{"average_pool_2d"}));
  d.count_includes_padding = true;
  EXPECT_EQ(ops_of(pooling(d), {1, 1, 8, 8}),
            (Names{"pad", "average_pool_2d"}));
  // Here the windows end where the padding does.
  EXPECT_EQ(ops_of(pooling(d), {1, 1, 7, 7}), (Names{"average_pool_2d"}));
}

TEST(Sequences, ArePooledAsImagesOfOneRow) {
  EXPECT_EQ(shape_after(std::make_shared<MaxPooling>(2), {2, 3, 9}),
            (Shape{2, 3, 4}));
  EXPECT_EQ(shape_after(std::make_shared<L2NormPooling>(Pair{1, 3}), {2, 3, 9}),
            (Shape{2, 3, 3}));
  EXPECT_EQ(
      shape_after(std::make_shared<AveragePooling>(
                      Pair{3, 3}, Pair{2, 2}, PaddingPolicy::UsePaddingSize,
                      Pair{1, 1}, /*count_includes_padding=*/true, Pair{1, 1},
                      /*ceil_mode=*/true),
                  {2, 3, 8}),
      (Shape{2, 3, 5}));
  EXPECT_TRUE(says(refusal<InvalidArgument>(
                       std::make_shared<MaxPooling>(Pair{2, 3}), {2, 3, 9}),
                   "(1, width) for a source (N, C, L), got (2, 3)"));
  EXPECT_TRUE(says(refusal<ShapeError>(std::make_shared<MaxPooling>(2), {2, 9}),
                   "(N, C, H, W), or (N, C, L)"));
}

TEST(Sequences, AreConvolvedAsImagesOfOneRow) {
  ConvolutionDescriptor d{.kernel_size = {1, 3},
                          .input_feature_channel_count = 4,
                          .output_feature_channel_count = 6,
                          .strides = {2, 2},
                          .padding_policy = PaddingPolicy::UsePaddingSize,
                          .padding_sizes = {1, 1}};
  const auto convolution = [&] { return std::make_shared<Convolution>(d); };
  EXPECT_EQ(shape_after(convolution(), {2, 4, 9}), (Shape{2, 6, 5}));
  d.convolution_type = ConvolutionType::Transposed;
  EXPECT_EQ(shape_after(convolution(), {2, 4, 9}), (Shape{2, 6, 17}));
  d.padding_sizes = {2, 1};
  EXPECT_TRUE(says(refusal<InvalidArgument>(convolution(), {2, 4, 9}),
                   "padding_sizes"));
  d.padding_sizes = {1, 1};
  d.kernel_size = {3, 3};
  EXPECT_TRUE(says(refusal<InvalidArgument>(convolution(), {2, 4, 9}),
                   "(1, width) for a source (N, C, L), got (3, 3)"));
  EXPECT_TRUE(says(refusal<ShapeError>(convolution(), {2, 5, 9}),
                   "(N, 4, H, W), or (N, 4, L)"));
}

TEST(UpsampleLayer, LowersToOneNode) {
  const auto layer =
      std::make_shared<Upsample>(Shape{8, 6}, SampleMode::Linear, true);
  Graph graph;
  EXPECT_EQ(graph.node(layer, Tensor({{2, 3, 4, 5}}, "x")).shape(),
            (Shape{2, 3, 8, 6}));
  EXPECT_EQ(
      std::get<UpsampleAttrs>(graph.state()->program.nodes().back().attrs),
      (UpsampleAttrs{{8, 6}, SampleMode::Linear, true}));
  EXPECT_EQ(layer->shape(), (Shape{8, 6}));
  EXPECT_EQ(layer->sample_mode(), SampleMode::Linear);
  EXPECT_TRUE(layer->aligns_corners());
  EXPECT_EQ(layer->name(), "upsample");
  EXPECT_EQ(shape_after(std::make_shared<Upsample>(Shape{9}), {2, 3, 5}),
            (Shape{2, 3, 9}));
}

TEST(UpsampleLayer, RefusesWhatItCannotDo) {
  for (const Shape& shape : {Shape{}, Shape{2, 2, 2}, Shape{0}, Shape{3, -1}}) {
    EXPECT_THROW(Upsample{shape}, InvalidArgument) << shape.to_string();
  }
  EXPECT_THROW(Upsample({4}, SampleMode::Nearest, true), InvalidArgument);
  EXPECT_THROW(Upsample({4}, static_cast<SampleMode>(2)), InvalidArgument);
  EXPECT_TRUE(says(
      refusal<ShapeError>(std::make_shared<Upsample>(Shape{4, 4}), {2, 3, 5}),
      "(N, C, H, W)"));
}

TEST(GramMatrixLayer, MultipliesAllPairsOfChannels) {
  const auto layer = std::make_shared<GramMatrix>(0.5f);
  EXPECT_EQ(shape_after(layer, {2, 3, 4, 5}), (Shape{2, 3, 1, 3}));
  EXPECT_EQ(layer->scale(), 0.5f);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ops_of(std::make_shared<GramMatrix>(), {2, 3, 4, 5}),
            (Names{"reshape", "matmul", "reshape"}));
  EXPECT_THROW(GramMatrix{std::numeric_limits<float>::infinity()},
               InvalidArgument);
  EXPECT_TRUE(
      says(refusal<ShapeError>(std::make_shared<GramMatrix>(), {2, 3, 4}),
           "(N, C, H, W)"));
}

}  // namespace
}  // namespace traingraph
