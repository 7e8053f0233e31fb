// SPDX-License-Identifier: MIT
// Batch, instance and group normalization.
#include <utility>

#include "layers/validate.h"
#include "nodes/trainable.h"

namespace traingraph::nodes {
namespace {

class NormalizationState : public TrainableState {
 public:
  NormalizationState(const char* class_name, const ImageNode& source,
                     NormalizationDataSourcePtr data_source)
      : TrainableState(class_name, source, nullptr, std::move(data_source)),
        channels_(normalization_source()->feature_channels()),
        epsilon_(normalization_source()->epsilon()) {
    require_finite(class_name, "epsilon", epsilon_);
    require_option(epsilon_ > 0, class_name, "epsilon", "above 0",
                   format_value(epsilon_));
    const std::int64_t given = source.size().feature_channels;
    if (given == channels_) return;
    throw ShapeError(
        ErrorInfo{.op = class_name,
                  .node = normalization_source()->name(),
                  .what = "the source does not have the channels of the "
                          "data source",
                  .expected = std::to_string(channels_),
                  .got = std::to_string(given),
                  .hint = {}});
  }

 protected:
  ValueId gamma(FilterBuilder& b) const { return per_channel(b, "gamma"); }
  ValueId beta(FilterBuilder& b) const { return per_channel(b, "beta"); }
  NormalizationFilter filter(StatisticsOf kind) const {
    return {.kind = kind, .channels = channels_, .epsilon = epsilon_};
  }
  std::int64_t channels() const { return channels_; }
  float epsilon() const { return epsilon_; }
  ValueId sample_norm(FilterBuilder& b, std::int64_t groups) const {
    const SampleNormAttrs attrs{.groups = groups, .epsilon = epsilon_};
    return b.append(OpKind::SampleNorm, attrs, {b.source(), gamma(b), beta(b)});
  }

 private:
  ValueId per_channel(FilterBuilder& b, const char* role) const {
    return b.parameter(normalization_source(), role, {channels_});
  }

  std::int64_t channels_;
  float epsilon_;
};

struct BatchState : NormalizationState {
  BatchState(const ImageNode& source, NormalizationDataSourcePtr data_source)
      : NormalizationState("BatchNormalizationNode", source,
                           std::move(data_source)),
        momentum(normalization_source()->momentum()) {
    require_within("BatchNormalizationNode", "momentum", momentum, 0, 1);
  }
  FilterAttributes attributes(const NodeProgram& program) const override {
    NormalizationFilter batch = filter(StatisticsOf::Batch);
    batch.momentum = momentum;
    batch.uses_batch_statistics = program.is_differentiated(*this);
    return batch;
  }
  ValueId lower(FilterBuilder& b) const override {
    BatchNormAttrs attrs{.epsilon = epsilon(),
                         .training = b.is_differentiated()};
    if (attrs.training) attrs.momentum = momentum;
    const auto statistic = [&](const char* role) {
      return b.statistic(normalization_source(), role, {channels()});
    };
    return b.append(OpKind::BatchNorm, attrs,
                    {b.source(), gamma(b), beta(b), statistic("mean"),
                     statistic("variance")});
  }
  float momentum;
};

struct InstanceState : NormalizationState {
  InstanceState(const ImageNode& source, NormalizationDataSourcePtr data_source)
      : NormalizationState("InstanceNormalizationNode", source,
                           std::move(data_source)) {}
  FilterAttributes attributes(const NodeProgram&) const override {
    return filter(StatisticsOf::Instance);
  }
  ValueId lower(FilterBuilder& b) const override {
    return sample_norm(b, channels());
  }
};

struct GroupState : NormalizationState {
  GroupState(const ImageNode& source, NormalizationDataSourcePtr data_source)
      : NormalizationState("GroupNormalizationNode", source,
                           std::move(data_source)),
        groups(normalization_source()->groups()) {
    require_positive("GroupNormalizationNode", "groups", groups);
    require_option(channels() % groups == 0, "GroupNormalizationNode", "groups",
                   "a divisor of " + std::to_string(channels()) + " channels",
                   std::to_string(groups));
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    NormalizationFilter group = filter(StatisticsOf::Group);
    group.groups = groups;
    return group;
  }
  ValueId lower(FilterBuilder& b) const override {
    return sample_norm(b, groups);
  }
  std::int64_t groups;
};

}  // namespace

bool NormalizationDataSource::update(const NormalizationGradients&) {
  throw UnsupportedError(
      {.op = "update",
       .node = name(),
       .what = "the data source does not update its parameters",
       .expected = "an update() of its own for TrainingStyle::CPU",
       .got = "none",
       .hint = "Give it an optimizer and use TrainingStyle::GPU."});
}

BatchNormalizationNode::BatchNormalizationNode(
    const ImageNode& source, NormalizationDataSourcePtr data_source)
    : TrainableNode(make_filter<BatchState>(source, std::move(data_source))) {}

InstanceNormalizationNode::InstanceNormalizationNode(
    const ImageNode& source, NormalizationDataSourcePtr data_source)
    : TrainableNode(
          make_filter<InstanceState>(source, std::move(data_source))) {}

GroupNormalizationNode::GroupNormalizationNode(
    const ImageNode& source, NormalizationDataSourcePtr data_source)
    : TrainableNode(make_filter<GroupState>(source, std::move(data_source))) {}

TrainableNode TrainableNode::from(const FilterNode& node) {
  TrainableNode trainable;
  const bool is_one = node && node.state()->is_trainable() &&
                      node.state()->forward() == nullptr;
  if (is_one) static_cast<FilterNode&>(trainable) = node;
  return trainable;
}

TrainingStyle TrainableNode::training_style() const {
  return state()->training_style;
}

void TrainableNode::set_training_style(TrainingStyle style) const {
  require_option(to_string(style) != "?", state()->class_name.c_str(),
                 "training_style", "a case of TrainingStyle",
                 std::to_string(static_cast<int>(style)));
  state()->training_style = style;
}

}  // namespace traingraph::nodes
