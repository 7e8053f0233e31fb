// SPDX-License-Identifier: MIT
// Normalizations by the squares around: across channels, across pixels, and by
// local contrast. All are averages over windows, so average pooling does them;
// channels become rows of an image for it.
#include "layers/validate.h"
#include "nodes/filter_builder.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

/// The mean over windows of `kernel` samples around each pixel; what lies
/// outside counts as zeros, or not at all.
ValueId window_mean(FilterBuilder& b, ValueId x, Pair kernel,
                    bool counts_padding) {
  const auto [height, width] = kernel;
  const AveragePool2dAttrs attrs{
      .kernel_size = kernel,
      .strides = {1, 1},
      .dilation_rates = {1, 1},
      .padding = {height / 2, (height - 1) / 2, width / 2, (width - 1) / 2},
      .count_includes_padding = counts_padding};
  return b.append(OpKind::AveragePool2d, attrs, {x});
}

/// (delta + alpha m)^-beta.
ValueId inverse_power(FilterBuilder& b, ValueId m, float alpha, float beta,
                      float delta) {
  return b.binary(ArithmeticOperation::Pow, b.linear(m, alpha, delta),
                  b.constant(-beta));
}

ValueId square(FilterBuilder& b, ValueId x) {
  return b.binary(ArithmeticOperation::Multiply, x, x);
}

void require_options(const char* op, std::int64_t kernel_size, float alpha,
                     float beta, float delta) {
  require_positive(op, "kernel_size", kernel_size);
  require_finite(op, "alpha", alpha);
  require_finite(op, "beta", beta);
  require_finite(op, "delta", delta);
}

struct CrossChannelState : FilterState {
  CrossChannelState(const ImageNode& source,
                    const CrossChannelNormalizationOptions& options)
      : FilterState("CrossChannelNormalizationNode", {source}),
        options(options) {
    require_options("CrossChannelNormalizationNode", options.kernel_size,
                    options.alpha, options.beta, options.delta);
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return CrossChannelNormalizationFilter{options};
  }
  ValueId lower(FilterBuilder& b) const override {
    const ValueId x = b.source();
    const Shape shape = b.shape(x);
    const ValueId rows =
        b.reshape(square(b, x), {-1, 1, shape[1], shape[2] * shape[3]});
    const ValueId mean = window_mean(b, rows, {options.kernel_size, 1},
                                     /*counts_padding=*/true);
    const ValueId as_image =
        b.reshape(mean, {-1, shape[1], shape[2], shape[3]});
    return b.binary(
        ArithmeticOperation::Multiply, x,
        inverse_power(b, as_image, options.alpha, options.beta, options.delta));
  }
  CrossChannelNormalizationOptions options;
};

struct SpatialState : FilterState {
  SpatialState(const ImageNode& source,
               const SpatialNormalizationOptions& options)
      : FilterState("SpatialNormalizationNode", {source}), options(options) {
    require_options("SpatialNormalizationNode", options.kernel_size,
                    options.alpha, options.beta, options.delta);
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return SpatialNormalizationFilter{options};
  }
  ValueId lower(FilterBuilder& b) const override {
    const ValueId x = b.source();
    const ValueId mean =
        window_mean(b, square(b, x), {options.kernel_size, options.kernel_size},
                    /*counts_padding=*/true);
    return b.binary(
        ArithmeticOperation::Multiply, x,
        inverse_power(b, mean, options.alpha, options.beta, options.delta));
  }
  SpatialNormalizationOptions options;
};

struct LocalContrastState : FilterState {
  LocalContrastState(const ImageNode& source,
                     const LocalContrastNormalizationOptions& options)
      : FilterState("LocalContrastNormalizationNode", {source}),
        options(options) {
    const char* op = "LocalContrastNormalizationNode";
    require_positive(op, "kernel_size", options.kernel_size);
    require_options(op, 1, options.alpha, options.beta, options.delta);
    require_finite(op, "p0", options.p0);
    require_finite(op, "pm", options.pm);
    require_finite(op, "ps", options.ps);
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return LocalContrastNormalizationFilter{options};
  }
  /// Computes with the differences d from the mean of each image and channel,
  /// since mean squares less squared means lose the digits of a large mean:
  ///   mean = c + m(d), variance = m(d^2) - m(d)^2.
  ValueId lower(FilterBuilder& b) const override {
    const ValueId x = b.source();
    const ValueId center =
        b.append(OpKind::Reduce,
                 ReduceAttrs{.type = ReductionType::Mean, .axes = {2, 3}}, {x});
    const ValueId d = b.binary(ArithmeticOperation::Subtract, x, center);
    const auto mean_of = [&](ValueId value) {
      return window_mean(b, value, options.kernel_size,
                         /*counts_padding=*/false);
    };
    const ValueId mean = mean_of(d);
    const ValueId variance = b.binary(ArithmeticOperation::Subtract,
                                      mean_of(square(b, d)), square(b, mean));
    const ValueId factor =
        inverse_power(b, variance, options.alpha, options.beta, options.delta);
    // x - p0 (c + m) = d - p0 m + (1 - p0) c
    ValueId numerator =
        b.binary(ArithmeticOperation::Subtract, d, b.linear(mean, options.p0));
    if (options.p0 != 1) {
      numerator = b.binary(ArithmeticOperation::Add, numerator,
                           b.linear(center, 1 - options.p0));
    }
    return b.linear(b.binary(ArithmeticOperation::Multiply, numerator, factor),
                    options.ps, options.pm);
  }
  LocalContrastNormalizationOptions options;
};

}  // namespace

CrossChannelNormalizationNode::CrossChannelNormalizationNode(
    const ImageNode& source, const CrossChannelNormalizationOptions& options)
    : FilterNode(make_filter<CrossChannelState>(source, options)) {}

SpatialNormalizationNode::SpatialNormalizationNode(
    const ImageNode& source, const SpatialNormalizationOptions& options)
    : FilterNode(make_filter<SpatialState>(source, options)) {}

LocalContrastNormalizationNode::LocalContrastNormalizationNode(
    const ImageNode& source, const LocalContrastNormalizationOptions& options)
    : FilterNode(make_filter<LocalContrastState>(source, options)) {}

}  // namespace traingraph::nodes
