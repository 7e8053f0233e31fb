// SPDX-License-Identifier: MIT
// ChooseFilters: programs of filters with their training graphs, and which of
// them MPSNN would run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "graph/image_filter.h"
#include "metal/partition.h"
#include "nodes/filter_builder.h"
#include "traingraph/nodes.h"

namespace traingraph::metal {

using nodes::FilterNode;
using nodes::ImageNode;

struct Weights final : nodes::ConvolutionDataSource {
  explicit Weights(nodes::ConvolutionDescriptor d)
      : numbers(d.output_feature_channels * d.kernel_size[0] *
                d.kernel_size[1] * d.input_feature_channels),
        described(d) {}
  nodes::ConvolutionDescriptor descriptor() const override { return described; }
  std::span<const float> weights() override { return numbers; }
  std::vector<float> numbers;
  nodes::ConvolutionDescriptor described;
};

inline nodes::ConvolutionDataSourcePtr weights(std::int64_t in,
                                               std::int64_t out,
                                               Pair kernel = {3, 3},
                                               std::int64_t groups = 1) {
  return std::make_shared<Weights>(
      nodes::ConvolutionDescriptor{.kernel_size = kernel,
                                   .input_feature_channels = in,
                                   .output_feature_channels = out,
                                   .groups = groups});
}

struct Normalization final : nodes::NormalizationDataSource {
  std::int64_t feature_channels() const override { return 8; }
  std::int64_t groups() const override { return 4; }
};

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
                  node.name().empty() ? node.class_name() : node.name());
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
                          value, kNoValue, hyperparameters(), scale},
                         filters[gradient->of].label + "." + role);
      }
    }
  }

  ValueId hyperparameters() {
    if (hyperparameters_ == kNoValue) {
      hyperparameters_ =
          program().add_value(Role::Input, {{4}}, "hyperparameters");
    }
    return hyperparameters_;
  }

  Program& program() { return nodes_->program(); }
  LowerOptions options(bool joins = true) const {
    return {.kept = kept_, .joins_phases = joins};
  }
  std::vector<GpuUnit> cut(bool joins = true) {
    return partition(program(), options(joins), limits);
  }
  /// The reason of the first filter of a class.
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
                                     {.kernel_size = {2, 2}});
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
  ValueId hyperparameters_ = kNoValue;
};

}  // namespace traingraph::metal
