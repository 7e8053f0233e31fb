// SPDX-License-Identifier: MIT
// Which filters run on MPSNN together, and which stay operations of MPSGraph
// for what is around them.
#include "metal/choose_filters.h"

namespace traingraph::metal {
namespace {

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
  EXPECT_EQ(std::ranges::count(unit.feeds, hyperparameters_), 0);
  // The loss and four gradients, which the updates read.
  EXPECT_EQ(unit.targets.size(), 5u);
  EXPECT_EQ(std::ranges::count(unit.targets, kept_[0]), 1);
  ASSERT_EQ(unit.updates.size(), 2u);
  EXPECT_EQ(unit.updates[0].engine, Engine::Graph);
  EXPECT_EQ(unit.updates[0].updates_filter, 0);
  EXPECT_EQ(unit.updates[0].updated,
            (std::vector{value_of(filters[0].parameters, "weights"),
                         value_of(filters[0].parameters, "biases")}));
  EXPECT_EQ(std::ranges::count(unit.updates[0].feeds, hyperparameters_), 1);
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
  EXPECT_EQ(units[2].in_place.size(), 2u);
}

TEST_F(ChooseFilters, UpdatesThatNeedOtherGradientsStayOutside) {
  add_network();
  program().position = {.phase = Phase::Update, .name = "clip"};
  std::vector<ValueId> norms{hyperparameters()};
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

TEST_F(ChooseFilters, RunningStatisticsHaveOneFilter) {
  const auto shared = std::make_shared<Normalization>();
  const nodes::BatchNormalizationNode first(image, shared);
  const nodes::BatchNormalizationNode second(first.result_image(), shared);
  const nodes::FullyConnectedNode dense(second.result_image(),
                                        weights(8, 5, {6, 6}));
  add({first, second, dense},
      nodes::LossNode(dense.result_image(), labels, softmax()));
  const std::string why = reason("BatchNormalizationNode");
  EXPECT_NE(why.find("change its mean"), std::string::npos) << why;
}

}  // namespace
}  // namespace traingraph::metal
