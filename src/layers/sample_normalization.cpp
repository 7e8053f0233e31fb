// SPDX-License-Identifier: MIT
#include "traingraph/layers/sample_normalization.h"

#include <algorithm>
#include <utility>

#include "base/axes.h"
#include "layers/normalization.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

using Axes = Shape;

/// Do the options say that there are neither beta nor gamma?
bool has_no_parameters(const char* op, bool uses_parameters, const Tensor& beta,
                       const Tensor& gamma) {
  if (uses_parameters) return false;
  require_option(!beta && !gamma, op, "uses_parameters",
                 "true: beta or gamma is given", "false");
  return true;
}

/// Is the source (N, C, ...) of so many channels?
void require_channels(const LayerBuilder& builder, const char* op,
                      std::int64_t channels) {
  const Shape& shape = builder.shape(builder.source(0));
  if (shape.rank() >= 2 && shape[1] == channels) return;
  throw ShapeError(
      ErrorInfo{.op = op,
                .node = builder.name(),
                .what = "the source has other channels",
                .expected = std::to_string(channels) + " on axis 1",
                .got = shape.to_string(),
                .hint = "Check the data layout (N, C, ...)."});
}

ValueId append_sample_norm(LayerBuilder& builder, ValueId x,
                           const NormalizationLayer& layer,
                           SampleNormAttrs attrs, const Shape& parameters,
                           std::vector<ValueId> running = {}) {
  attrs.epsilon = layer.variance_epsilon();
  std::vector<ValueId> inputs{
      x, parameter(builder, layer.gamma_parameter(), parameters, "gamma"),
      parameter(builder, layer.beta_parameter(), parameters, "beta")};
  inputs.insert(inputs.end(), running.begin(), running.end());
  return builder.append(OpKind::SampleNorm, attrs, std::move(inputs));
}

}  // namespace

InstanceNormalization::InstanceNormalization(
    std::int64_t feature_channel_count,
    const InstanceNormalizationOptions& options)
    : NormalizationLayer("InstanceNormalization", options.variance_epsilon),
      channels_(feature_channel_count),
      momentum_(options.momentum) {
  const char* op = "InstanceNormalization";
  require_positive(op, "feature_channel_count", channels_);
  require_within(op, "momentum", momentum_, 0, 1);
  const bool is_running = options.mean || options.variance;
  require_roles(op, options.beta, options.gamma, options.mean,
                options.variance);
  require_per_channel(op, options.beta, channels_, "beta");
  require_per_channel(op, options.gamma, channels_, "gamma");
  if (is_running) {
    mean_ = per_channel(op, options.mean, channels_, 0, "mean");
    variance_ = per_channel(op, options.variance, channels_, 1, "variance");
  }
  const bool has_none = has_no_parameters(op, options.uses_parameters,
                                          options.beta, options.gamma);
  if (is_running || has_none || options.beta || options.gamma) {
    set_parameters(options.beta, options.gamma);
  } else {
    create_parameters(op, {channels_});
  }
  if (is_running) {
    name_tensor(mean_, "mean");
    name_tensor(variance_, "variance");
  }
}

std::vector<Tensor> InstanceNormalization::statistics() const {
  if (!mean_) return {};
  return {mean_, variance_};
}

void InstanceNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  require_channels(builder, "InstanceNormalization", channels_);
  const Shape shape{channels_};
  std::vector<ValueId> running;
  if (mean_) {
    running = {builder.statistic(mean_, shape, "mean"),
               builder.statistic(variance_, shape, "variance")};
  }
  SampleNormAttrs attrs{.groups = channels_};
  if (mean_) attrs.momentum = momentum_;
  builder.add_result(append_sample_norm(builder, builder.source(0), *this,
                                        attrs, shape, running));
}

GroupNormalization::GroupNormalization(std::int64_t feature_channel_count,
                                       std::int64_t group_count,
                                       const GroupNormalizationOptions& options)
    : NormalizationLayer("GroupNormalization", options.variance_epsilon),
      channels_(feature_channel_count),
      groups_(group_count) {
  const char* op = "GroupNormalization";
  require_positive(op, "feature_channel_count", channels_);
  require_positive(op, "group_count", groups_);
  require_option(channels_ % groups_ == 0, op, "group_count",
                 "a divisor of " + format_value(channels_) + " channels",
                 format_value(groups_));
  require_roles(op, options.beta, options.gamma);
  require_per_channel(op, options.beta, channels_, "beta");
  require_per_channel(op, options.gamma, channels_, "gamma");
  const bool has_none = has_no_parameters(op, options.uses_parameters,
                                          options.beta, options.gamma);
  if (has_none || options.beta || options.gamma) {
    set_parameters(options.beta, options.gamma);
  } else {
    create_parameters(op, {channels_});
  }
}

void GroupNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  require_channels(builder, "GroupNormalization", channels_);
  builder.add_result(append_sample_norm(builder, builder.source(0), *this,
                                        {.groups = groups_}, {channels_}));
}

LayerNormalization::LayerNormalization(const Shape& normalized_shape,
                                       const LayerNormalizationOptions& options)
    : NormalizationLayer("LayerNormalization", options.variance_epsilon),
      normalized_shape_(normalized_shape),
      axes_(options.axes) {
  const char* op = "LayerNormalization";
  const int rank = normalized_shape_.rank();
  require_option(rank > 0, op, "normalized_shape", "at least one size", "none");
  for (const std::int64_t size : normalized_shape_) {
    require_positive(op, "normalized_shape", size);
  }
  require_option(axes_.empty() || axes_.rank() == rank, op, "axes",
                 "none, or " + std::to_string(rank) + " as normalized_shape",
                 format_value(axes_));
  Shape padded = Shape::filled(std::max(4 - rank, 0), 1);
  for (const std::int64_t size : normalized_shape_) padded.push_back(size);
  const Shape flat{normalized_shape_.num_elements()};
  require_roles(op, options.beta, options.gamma);
  if (options.beta) {
    require_parameter(op, "beta", options.beta,
                      {normalized_shape_, padded, flat});
  }
  if (options.gamma) {
    require_parameter(op, "gamma", options.gamma,
                      {normalized_shape_, padded, flat});
  }
  const bool has_none = has_no_parameters(op, options.uses_parameters,
                                          options.beta, options.gamma);
  if (has_none || options.beta || options.gamma) {
    set_parameters(options.beta, options.gamma);
  } else {
    create_parameters(op, normalized_shape_);
  }
}

void LayerNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const char* op = "LayerNormalization";
  const ValueId x = builder.source(0);
  const Shape shape = builder.shape(x);
  const int rank = shape.rank(), num_axes = normalized_shape_.rank();
  const auto require = [&](bool ok) {
    if (ok) return;
    throw ShapeError(
        {.op = op,
         .node = builder.name(),
         .what = "the source does not have the normalized shape",
         .expected = normalized_shape_.to_string() +
                     (axes_.empty() ? " as the last axes"
                                    : " on axes " + axes_.to_string()),
         .got = shape.to_string(),
         .hint = {}});
  };
  require(rank >= num_axes);
  const int first = rank - num_axes;
  Axes last;
  for (int axis = first; axis < rank; ++axis) last.push_back(axis);
  const Axes axes = axes_.empty()
                        ? last
                        : resolve_axes(axes_, rank, op, builder.name(), "axes");
  for (int i = 0; i < num_axes; ++i) {
    require(shape[static_cast<int>(axes[i])] == normalized_shape_[i]);
  }
  const SampleNormAttrs attrs{.axis = first};
  if (axes == last) {
    return builder.add_result(
        append_sample_norm(builder, x, *this, attrs, normalized_shape_));
  }
  Axes there, back = Shape::filled(rank, 0);
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_normalized =
        std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!is_normalized) there.push_back(axis);
  }
  for (const std::int64_t axis : axes) there.push_back(axis);
  for (int i = 0; i < rank; ++i) back[static_cast<int>(there[i])] = i;
  const ValueId moved =
      builder.append(OpKind::Transpose, TransposeAttrs{there}, {x});
  const ValueId y =
      append_sample_norm(builder, moved, *this, attrs, normalized_shape_);
  builder.add_result(
      builder.append(OpKind::Transpose, TransposeAttrs{back}, {y}));
}

}  // namespace traingraph::layers
