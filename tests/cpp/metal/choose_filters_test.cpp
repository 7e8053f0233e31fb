// SPDX-License-Identifier: MIT
// Which filters run on MPSNN, which stay operations of MPSGraph, and why.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "graph/image_filter.h"
#include "metal/partition.h"
#include "nodes/filter_builder.h"
#include "traingraph/nodes.h"

namespace traingraph::metal {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

struct Weights final : nodes::ConvolutionDataSource {
  explicit Weights(nodes::ConvolutionDescriptor d)
      : numbers(d.output_feature_channels * d.kernel_sizes[0] *
                d.kernel_sizes[1] * d.input_feature_channels),
        described(d) {}
  nodes::ConvolutionDescriptor descriptor() const override { return described; }
  std::span<const float> weights() override { return numbers; }
  std::vector<float> numbers;
  nodes::ConvolutionDescriptor described;
};

nodes::ConvolutionDataSourcePtr weights(std::int64_t in, std::int64_t out,
                                        Pair kernel = {3, 3},
                                        std::int64_t groups = 1) {
  return std::make_shared<Weights>(
      nodes::ConvolutionDescriptor{.kernel_sizes = kernel,
                                   .input_feature_channels = in,
                                   .output_feature_channels = out,
                                   .groups = groups});
}

class ChooseFilters : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBatch = 2;

  /// All filters behind `loss`, then its training graph.
  void add(const std::vector<FilterNode>& forward,
           const nodes::LossNode& loss) {
    std::vector<FilterNode> all = forward;
    all.push_back(loss);
    std::vector<FilterNode> gradients;
    loss.training_graph(
        {}, [&](const FilterNode& node, const FilterNode&, const ImageNode&,
                const ImageNode&) { gradients.push_back(node); });
    all.insert(all.end(), gradients.begin(), gradients.end());
    std::unordered_set<const nodes::FilterState*> differentiated;
    for (const FilterNode& node : gradients) {
      const auto* of = node.state()->forward();
      if (of != nullptr) differentiated.insert(of);
    }
    nodes_.emplace(kBatch, differentiated);
    for (const FilterNode& node : all) {
      nodes_->add(*node.state(),
                  node.label().empty() ? node.class_name() : node.label());
      indices_.push_back(node.class_name());
    }
    nodes_->name_filters();
    for (const ImageFilter& filter : program().filters->filters) {
      if (filter.loss != kNoValue) kept_.push_back(filter.loss);
    }
  }

  /// SGD of all parameters that have gradients; `scale` as of clipping.
  void add_updates(ValueId scale = kNoValue) {
    program().position = {.phase = Phase::Update, .name = "optimizer"};
    const auto& filters = program().filters->filters;
    for (const ImageFilter& filter : filters) {
      const auto* gradient = std::get_if<GradientFilter>(&filter.attrs);
      if (gradient == nullptr) continue;
      for (const auto& [role, value] : filter.parameter_gradients) {
        if (value == kNoValue) continue;
        program().append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                         {value_of(filters[gradient->of].parameters, role),
                          value, kNoValue, rates(), scale},
                         filters[gradient->of].label + "." + role);
      }
    }
  }

  ValueId rates() {
    if (rates_ == kNoValue) {
      rates_ = program().add_value(Role::Input, {{4}}, "rates");
    }
    return rates_;
  }

  Program& program() { return nodes_->program(); }
  LowerOptions options(bool joins = true) const {
    return {.kept = kept_, .joins_phases = joins};
  }
  std::vector<GpuUnit> cut(bool joins = true) {
    return partition(program(), options(joins), limits);
  }
  /// Of the first filter of a class.
  std::string reason(const std::string& class_name, bool joins = true) {
    const auto at = std::ranges::find(indices_, class_name);
    EXPECT_NE(at, indices_.end()) << class_name;
    return reasons_not_mpsnn(program(), options(joins),
                             limits)[at - indices_.begin()];
  }

  /// Convolution, ReLU, pooling, `last`, fully connected, loss.
  void add_network(std::int64_t groups = 1) {
    const nodes::ConvolutionNode conv(image, weights(8, 8, {3, 3}, groups));
    const nodes::ReLUNode relu(conv.result_image());
    const nodes::PoolingMaxNode pool(relu.result_image(),
                                     {.kernel_sizes = {2, 2}});
    const nodes::FullyConnectedNode dense(pool.result_image(),
                                          weights(8, 5, {3, 3}));
    add({conv, relu, pool, dense},
        nodes::LossNode(dense.result_image(), labels, softmax()));
  }
  static nodes::LossDescriptor softmax() {
    return {.type = LossType::SoftmaxCrossEntropy,
            .reduction = ReductionType::Sum};
  }

  ImageNode image{"image", {8, 6, 6}}, labels{"labels", {5, 1, 1}};
  GpuLimits limits;
  std::optional<nodes::NodeProgram> nodes_;
  std::vector<std::string> indices_;  // classes of the filters
  std::vector<ValueId> kept_;
  ValueId rates_ = kNoValue;
};

TEST_F(ChooseFilters, ANetworkWithItsGradientAndUpdatesIsOneUnit) {
  add_network();
  add_updates();
  for (const std::string& reason :
       reasons_not_mpsnn(program(), options(), limits)) {
    EXPECT_EQ(reason, "");
  }
  const auto units = cut();
  ASSERT_EQ(units.size(), 1u);
  const GpuUnit& unit = units[0];
  EXPECT_EQ(unit.engine, Engine::ImageGraph);
  const auto& filters = program().filters->filters;
  EXPECT_EQ(unit.filters.size(), filters.size());
  // The image, two sets of parameters and the labels.
  EXPECT_EQ(unit.feeds.size(), 6u);
  EXPECT_EQ(std::ranges::count(unit.feeds, rates_), 0);
  // The loss and four gradients, which the updates read.
  EXPECT_EQ(unit.targets.size(), 5u);
  EXPECT_EQ(std::ranges::count(unit.targets, kept_[0]), 1);
  ASSERT_EQ(unit.updates.size(), 2u);
  EXPECT_EQ(unit.updates[0].engine, Engine::Graph);
  EXPECT_EQ(unit.updates[0].updates_filter, 0);
  EXPECT_EQ(unit.updates[0].updated,
            (std::vector{value_of(filters[0].parameters, "weights"),
                         value_of(filters[0].parameters, "biases")}));
  EXPECT_EQ(std::ranges::count(unit.updates[0].feeds, rates_), 1);
  EXPECT_TRUE(unit.updates[0].targets.empty());
  EXPECT_EQ(unit.updates[1].updates_filter, 3);
}

TEST_F(ChooseFilters, GradientsThatNobodyReadsAreNoTargets) {
  add_network();
  EXPECT_EQ(cut()[0].targets, kept_);
  const auto& filters = program().filters->filters;
  const ValueId gradient =
      value_of(filters.back().parameter_gradients, "weights");
  kept_.push_back(gradient);
  EXPECT_EQ(cut()[0].targets, kept_);
}

TEST_F(ChooseFilters, WithoutImageGraphsNothingChanges) {
  add_network();
  add_updates();
  limits.uses_image_graphs = false;
  const auto units = cut();
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].engine, Engine::Graph);
  EXPECT_EQ(reason("ConvolutionNode"), "image graphs are off");
}

TEST_F(ChooseFilters, StatesDoNotLeaveAGraph) {
  add_network();
  add_updates();
  const std::string why = reason("ConvolutionNode", /*joins=*/false);
  EXPECT_NE(why.find("another unit"), std::string::npos) << why;
  // A loss that returns its gradient leaves no state.
  EXPECT_EQ(reason("LossNode", /*joins=*/false), "");
  for (const GpuUnit& unit : cut(/*joins=*/false)) {
    EXPECT_TRUE(unit.updates.empty());
  }
}

TEST_F(ChooseFilters, WhatIsRefusedSplitsAndTheRestStays) {
  const nodes::ConvolutionNode conv(image, weights(8, 8));
  const nodes::DropoutNode drop(conv.result_image());
  const nodes::FullyConnectedNode dense(drop.result_image(),
                                        weights(8, 5, {6, 6}));
  add({conv, drop, dense},
      nodes::LossNode(dense.result_image(), labels, softmax()));
  add_updates();
  EXPECT_NE(reason("DropoutNode").find("random numbers"), std::string::npos);
  EXPECT_NE(reason("ConvolutionNode").find("another unit"), std::string::npos);
  EXPECT_EQ(reason("FullyConnectedNode"), "");
  const auto units = cut();
  ASSERT_EQ(units.size(), 3u);
  EXPECT_EQ(units[0].engine, Engine::Graph);
  EXPECT_EQ(units[1].engine, Engine::ImageGraph);
  EXPECT_EQ(units[1].updates.size(), 1u);
  EXPECT_EQ(units[2].engine, Engine::Graph);
  // The convolution's update is where it would be without MPSNN.
  EXPECT_EQ(units[2].updated.size(), 2u);
}

TEST_F(ChooseFilters, UpdatesThatNeedOtherGradientsStayOutside) {
  add_network();
  program().position = {.phase = Phase::Update, .name = "clip"};
  std::vector<ValueId> norms{rates()};
  for (const ImageFilter& filter : program().filters->filters) {
    for (const auto& [role, value] : filter.parameter_gradients) {
      if (value == kNoValue) continue;
      norms.push_back(
          program().append_one(OpKind::SquaredNorm, NoAttrs{}, {value}));
    }
  }
  const ValueId scale =
      program().append_one(OpKind::ClipScale, ClipScaleAttrs{1, 0}, norms);
  add_updates(scale);
  const std::string why = reason("ConvolutionNode");
  EXPECT_NE(why.find("update"), std::string::npos) << why;
  EXPECT_EQ(reason("LossNode"), "");
}

TEST_F(ChooseFilters, AVariableThatIsTrainedHasOneFilter) {
  const auto shared = weights(8, 8);
  const nodes::ConvolutionNode first(image, shared);
  const nodes::ConvolutionNode second(first.result_image(), shared);
  const nodes::FullyConnectedNode dense(second.result_image(),
                                        weights(8, 5, {6, 6}));
  add({first, second, dense},
      nodes::LossNode(dense.result_image(), labels, softmax()));
  EXPECT_EQ(reason("ConvolutionNode"), "");  // nobody trains it
  add_updates();
  const std::string why = reason("ConvolutionNode");
  EXPECT_NE(why.find("read by"), std::string::npos) << why;
  EXPECT_EQ(reason("FullyConnectedNode"), "");
}

TEST_F(ChooseFilters, UpdatesThatMayBeLeftOutStayOutside) {
  add_network();
  add_updates();
  LowerOptions apart = options();
  apart.separates_updates = true;
  const auto reasons = reasons_not_mpsnn(program(), apart, limits);
  EXPECT_NE(reasons[0].find("linked"), std::string::npos) << reasons[0];
  for (const GpuUnit& unit : partition(program(), apart, limits)) {
    EXPECT_TRUE(unit.updates.empty());
  }
}

TEST_F(ChooseFilters, GroupsHaveWholeTexels) {
  add_network(/*groups=*/4);
  EXPECT_NE(reason("ConvolutionNode").find("multiple of 4"), std::string::npos);
  nodes_.reset();
  indices_.clear();
  kept_.clear();
  add_network(/*groups=*/2);
  EXPECT_EQ(reason("ConvolutionNode"), "");
}

TEST_F(ChooseFilters, TexturesEnd) {
  add_network();
  limits.max_image_channels = 7;
  EXPECT_NE(reason("ConvolutionNode").find("textures"), std::string::npos);
  limits = {.max_image_extent = 5};
  EXPECT_NE(reason("ReLUNode").find("textures"), std::string::npos);
}

/// The reason for one filter between the image and a mean squared error.
class FilterSupport : public ChooseFilters {
 protected:
  std::string reason_of(const FilterNode& filter, bool is_differentiated) {
    std::unordered_set<const nodes::FilterState*> differentiated;
    nodes_.emplace(kBatch, differentiated);
    nodes_->add(*filter.state(), "filter");
    if (is_differentiated) {
      const ImageNode gradient("gradient", filter.result_image().size());
      const auto all = filter.gradient_filters(gradient);
      nodes_->add(*all[0].state(), "gradient filter");
    }
    nodes_->name_filters();
    kept_.clear();
    for (const ImageFilter& it : program().filters->filters) {
      kept_.push_back(it.result);
    }
    return reasons_not_mpsnn(program(), options(), limits)[0];
  }
  void expect_runs(const FilterNode& filter, bool is_differentiated = true) {
    EXPECT_EQ(reason_of(filter, is_differentiated), "") << filter.class_name();
  }
  void expect_refused(const FilterNode& filter, const std::string& why,
                      bool is_differentiated = true) {
    const std::string reason = reason_of(filter, is_differentiated);
    EXPECT_NE(reason.find(why), std::string::npos)
        << filter.class_name() << ": " << reason;
  }
};

TEST_F(FilterSupport, FiltersThatMeanTheSame) {
  expect_runs(nodes::ConvolutionNode(image, weights(8, 4)));
  expect_runs(nodes::FullyConnectedNode(image, weights(8, 4, {6, 6})));
  expect_runs(nodes::SigmoidNode(image));
  expect_runs(nodes::ReLUNNode(image, 0, 6));
  expect_runs(nodes::SoftMaxNode(image));
  expect_runs(nodes::LogSoftMaxNode(image));
  expect_runs(nodes::AdditionNode(image, image));
  expect_runs(nodes::MultiplicationNode(image, image));
  expect_runs(nodes::PoolingMaxNode(image, {.kernel_sizes = {3, 3}}));
  expect_runs(nodes::PoolingAverageNode(
      image, {.kernel_sizes = {3, 3}, .strides = {2, 2}, .padding = {}}));
  expect_runs(nodes::DilatedPoolingMaxNode(
      image,
      {.kernel_sizes = {2, 2}, .strides = {1, 1}, .dilation_rates = {2, 2}}));
  expect_runs(nodes::UpsamplingNearestNode(image, 2, 3));
  expect_runs(nodes::UpsamplingBilinearNode(image, 2, 2, true));
  expect_runs(nodes::GramMatrixCalculationNode(image, 0.5f));
  expect_runs(nodes::ReductionNode(image, ImageReduction::SpatialMean));
  expect_runs(nodes::CrossChannelNormalizationNode(image), false);
}

TEST_F(FilterSupport, FiltersThatDoNot) {
  expect_refused(nodes::ConvolutionTransposeNode(image, weights(8, 4)),
                 "transposed");
  expect_refused(nodes::DropoutNode(image), "random");
  expect_refused(nodes::CrossChannelNormalizationNode(image), "printed");
  expect_refused(nodes::ReLUNNode(image, 0.5f, -1), "ReLUN");
  expect_refused(nodes::AdditionNode(image, image, {.maximum_value = 1}),
                 "clamped");
  expect_runs(nodes::AdditionNode(image, image, {.maximum_value = 1}), false);
  expect_runs(nodes::DivisionNode(image, image), false);
  expect_refused(
      nodes::PoolingAverageNode(image, {.kernel_sizes = {3, 3},
                                        .strides = {2, 2},
                                        .padding = {},
                                        .edge_mode = ImageEdgeMode::Zero}),
      "inside the image");
  expect_refused(
      nodes::PoolingL2NormNode(
          image, {.kernel_sizes = {3, 3}, .strides = {2, 2}, .padding = {}}),
      "L2");
  expect_refused(nodes::UpsamplingBilinearNode(image, 2, 2), "corners");
  const ImageNode three("three", {3, 6, 6});
  expect_refused(nodes::ConcatenationNode({image, three}), "multiple of 4");
  expect_runs(nodes::ConcatenationNode({image, image}));
  // Two windows of 2 samples, and one that none of them reads.
  nodes::PoolingOptions odd{.kernel_sizes = {2, 2}, .strides = {3, 3}};
  odd.padding.remainder = PaddingRemainder::TopLeft;
  expect_refused(nodes::PoolingMaxNode(image, odd), "odd");
  odd.padding.remainder = PaddingRemainder::BottomRight;
  expect_runs(nodes::PoolingMaxNode(image, odd));
}

TEST_F(FilterSupport, MisprintedFiltersRunWhenTrusted) {
  limits.trusts_misprinted_filters = true;
  expect_runs(nodes::CrossChannelNormalizationNode(image));
  expect_runs(nodes::SpatialNormalizationNode(image));
  expect_runs(nodes::LocalContrastNormalizationNode(image));
}

TEST_F(FilterSupport, Losses) {
  const auto reason = [&](LossType type, ReductionType reduction,
                          const ImageNode& weighted = {}) {
    const ImageNode source("source", {5, 1, 1});
    return reason_of(
        nodes::LossNode(source, labels, {.type = type, .reduction = reduction},
                        weighted),
        false);
  };
  const ImageNode weighted("weights", {5, 1, 1});
  using enum ReductionType;
  EXPECT_EQ(reason(LossType::MeanSquaredError, None), "");
  EXPECT_EQ(reason(LossType::MeanSquaredError, Mean, weighted), "");
  EXPECT_EQ(reason(LossType::SoftmaxCrossEntropy, Mean), "");
  EXPECT_NE(reason(LossType::SoftmaxCrossEntropy, None), "");
  EXPECT_NE(reason(LossType::Hinge, Sum), "");
  EXPECT_NE(reason(LossType::Huber, Sum), "");
  limits.trusts_misprinted_filters = true;
  EXPECT_EQ(reason(LossType::Huber, Sum), "");
}

}  // namespace
}  // namespace traingraph::metal
