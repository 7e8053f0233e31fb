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

/// Requires that none are given without parameters.
template <class Options>
void require_unused_parameters(const char* op, const Options& options) {
  require_option(options.uses_parameters || (!options.beta && !options.gamma),
                 op, "uses_parameters", "true: beta or gamma is given",
                 "false");
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
    const InstanceNormalizationOptions& options)
    : NormalizationLayer("InstanceNormalization", options.variance_epsilon),
      options_(options) {
  const char* op = "InstanceNormalization";
  require_within(op, "momentum", options.momentum, 0, 1);
  require_roles(op, options.beta, options.gamma, options.mean,
                options.variance);
  require_unused_parameters(op, options);
}

InstanceNormalization::InstanceNormalization(
    std::int64_t feature_channel_count,
    const InstanceNormalizationOptions& options)
    : InstanceNormalization(options) {
  require_positive("InstanceNormalization", "feature_channel_count",
                   feature_channel_count);
  set_size(feature_channel_count);
}

Shape InstanceNormalization::sizes_of(const std::vector<Shape>& sources) const {
  return {size_of(sources, 1, kChannelsSource)};
}

std::unique_ptr<SizedLayer::Parts> InstanceNormalization::make(
    const Shape& sizes) const {
  const char* op = "InstanceNormalization";
  const auto& [mean, variance, beta, gamma, epsilon, momentum,
               uses_parameters] = options_;
  require_per_channel(op, beta, sizes[0], "beta");
  require_per_channel(op, gamma, sizes[0], "gamma");
  const bool is_running = mean || variance;
  const bool is_given = is_running || !uses_parameters || beta || gamma;
  auto parts =
      is_given ? given_parts(sizes, beta, gamma) : created_parts(op, sizes);
  if (is_running) {
    parts->set_statistics(per_channel(op, mean, sizes[0], 0, "mean"),
                          per_channel(op, variance, sizes[0], 1, "variance"));
  }
  return parts;
}

std::vector<Tensor> InstanceNormalization::statistics() const {
  if (!mean()) return {};
  return {mean(), variance()};
}

bool InstanceNormalization::supports_data_type(DataType data_type,
                                               const Device& device) {
  return takes(OpKind::SampleNorm, data_type, device);
}

void InstanceNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  require_channels(builder, "InstanceNormalization", size());
  const Shape shape{size()};
  std::vector<ValueId> running;
  if (mean()) {
    running = {builder.statistic(mean(), shape, "mean"),
               builder.statistic(variance(), shape, "variance")};
  }
  SampleNormAttrs attrs{.groups = size()};
  if (mean()) attrs.momentum = momentum();
  builder.add_result(append_sample_norm(builder, builder.source(0), *this,
                                        attrs, shape, running));
}

GroupNormalization::GroupNormalization(std::int64_t group_count,
                                       const GroupNormalizationOptions& options)
    : NormalizationLayer("GroupNormalization", options.variance_epsilon),
      groups_(group_count),
      options_(options) {
  const char* op = "GroupNormalization";
  require_positive(op, "group_count", groups_);
  require_roles(op, options.beta, options.gamma);
  require_unused_parameters(op, options);
}

GroupNormalization::GroupNormalization(std::int64_t feature_channel_count,
                                       std::int64_t group_count,
                                       const GroupNormalizationOptions& options)
    : GroupNormalization(group_count, options) {
  require_positive("GroupNormalization", "feature_channel_count",
                   feature_channel_count);
  set_size(feature_channel_count);
}

Shape GroupNormalization::sizes_of(const std::vector<Shape>& sources) const {
  return {size_of(sources, 1, kChannelsSource)};
}

std::unique_ptr<SizedLayer::Parts> GroupNormalization::make(
    const Shape& sizes) const {
  const char* op = "GroupNormalization";
  const auto& [beta, gamma, epsilon, uses_parameters] = options_;
  require_option(sizes[0] % groups_ == 0, op, "group_count",
                 "a divisor of " + format_value(sizes[0]) + " channels",
                 format_value(groups_));
  require_per_channel(op, beta, sizes[0], "beta");
  require_per_channel(op, gamma, sizes[0], "gamma");
  const bool is_given = !uses_parameters || beta || gamma;
  return is_given ? given_parts(sizes, beta, gamma) : created_parts(op, sizes);
}

bool GroupNormalization::supports_data_type(DataType data_type,
                                            const Device& device) {
  return takes(OpKind::SampleNorm, data_type, device);
}

void GroupNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  require_channels(builder, "GroupNormalization", size());
  builder.add_result(append_sample_norm(builder, builder.source(0), *this,
                                        {.groups = groups_}, {size()}));
}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : NormalizationLayer("LayerNormalization", options.variance_epsilon),
      options_(options) {
  const char* op = "LayerNormalization";
  require_roles(op, options.beta, options.gamma);
  require_unused_parameters(op, options);
}

LayerNormalization::LayerNormalization(const Shape& normalized_shape,
                                       const LayerNormalizationOptions& options)
    : LayerNormalization(options) {
  const char* op = "LayerNormalization";
  const int rank = normalized_shape.rank();
  require_option(rank > 0, op, "normalized_shape", "at least one size", "none");
  for (const std::int64_t size : normalized_shape) {
    require_positive(op, "normalized_shape", size);
  }
  require_option(options.axes.empty() || options.axes.rank() == rank, op,
                 "axes",
                 "none, or " + std::to_string(rank) + " as normalized_shape",
                 format_value(options.axes));
  set_sizes(normalized_shape);
}

Shape LayerNormalization::sizes_of(const std::vector<Shape>& sources) const {
  if (options_.axes.empty()) return {size_of(sources, -1, "(..., size)")};
  const Shape& shape = sources.front();
  Shape sizes;
  for (const std::int64_t axis : resolve_axes(
           options_.axes, shape.rank(), "LayerNormalization", {}, "axes")) {
    sizes.push_back(shape[static_cast<int>(axis)]);
  }
  return sizes;
}

std::unique_ptr<SizedLayer::Parts> LayerNormalization::make(
    const Shape& sizes) const {
  const char* op = "LayerNormalization";
  const auto& [beta, gamma, epsilon, uses_parameters, axes] = options_;
  Shape padded = Shape::filled(std::max(4 - sizes.rank(), 0), 1);
  for (const std::int64_t size : sizes) padded.push_back(size);
  const Shape flat{sizes.num_elements()};
  if (beta) require_parameter(op, "beta", beta, {sizes, padded, flat});
  if (gamma) require_parameter(op, "gamma", gamma, {sizes, padded, flat});
  const bool is_given = !uses_parameters || beta || gamma;
  return is_given ? given_parts(sizes, beta, gamma) : created_parts(op, sizes);
}

bool LayerNormalization::supports_data_type(DataType data_type,
                                            const Device& device) {
  return takes(OpKind::SampleNorm, data_type, device);
}

void LayerNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const char* op = "LayerNormalization";
  const Shape normalized_shape = sizes(), given_axes = options_.axes;
  const ValueId x = builder.source(0);
  const Shape shape = builder.shape(x);
  const int rank = shape.rank(), num_axes = normalized_shape.rank();
  const auto require = [&](bool ok) {
    if (ok) return;
    throw ShapeError({.op = op,
                      .node = builder.name(),
                      .what = "the source does not have the normalized shape",
                      .expected = normalized_shape.to_string() +
                                  (given_axes.empty()
                                       ? " as the last axes"
                                       : " on axes " + given_axes.to_string()),
                      .got = shape.to_string(),
                      .hint = {}});
  };
  require(rank >= num_axes);
  const int first = rank - num_axes;
  Axes last;
  for (int axis = first; axis < rank; ++axis) last.push_back(axis);
  const Axes axes = given_axes.empty() ? last
                                       : resolve_axes(given_axes, rank, op,
                                                      builder.name(), "axes");
  for (int i = 0; i < num_axes; ++i) {
    require(shape[static_cast<int>(axes[i])] == normalized_shape[i]);
  }
  const SampleNormAttrs attrs{.axis = first};
  if (axes == last) {
    return builder.add_result(
        append_sample_norm(builder, x, *this, attrs, normalized_shape));
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
      append_sample_norm(builder, moved, *this, attrs, normalized_shape);
  builder.add_result(
      builder.append(OpKind::Transpose, TransposeAttrs{back}, {y}));
}

}  // namespace traingraph::layers
