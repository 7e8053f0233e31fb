// SPDX-License-Identifier: MIT
// Convolutions, their transpose, and fully connected filters.
#include <cmath>
#include <utility>

#include "layers/validate.h"
#include "nodes/trainable.h"
#include "nodes/windows.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

ImageWindow window_of(const ConvolutionDescriptor& descriptor) {
  return {descriptor.kernel_size, descriptor.strides,
          descriptor.dilation_rates};
}

void require_divides(std::int64_t channels, std::int64_t groups, const char* op,
                     const char* field) {
  require_option(channels % groups == 0, op, field,
                 "a multiple of " + std::to_string(groups) + " groups",
                 std::to_string(channels));
}

void validate(const ConvolutionDescriptor& d, const char* op) {
  require_positive(op, "input_feature_channels", d.input_feature_channels);
  require_positive(op, "output_feature_channels", d.output_feature_channels);
  require_positive(op, "kernel_size", d.kernel_size);
  require_positive(op, "strides", d.strides);
  require_positive(op, "dilation_rates", d.dilation_rates);
  require_positive(op, "groups", d.groups);
  require_divides(d.input_feature_channels, d.groups, op,
                  "input_feature_channels");
  require_divides(d.output_feature_channels, d.groups, op,
                  "output_feature_channels");
  if (!d.is_depthwise) return;
  require_option(d.groups == 1, op, "groups", "1 for depthwise",
                 std::to_string(d.groups));
  require_option(d.input_feature_channels == d.output_feature_channels, op,
                 "output_feature_channels",
                 std::to_string(d.input_feature_channels) +
                     ": depthwise has a channel multiplier of 1",
                 std::to_string(d.output_feature_channels));
}

class ConvolutionState : public TrainableState {
 public:
  ConvolutionState(const char* class_name, const ImageNode& source,
                   ConvolutionDataSourcePtr weights, PaddingPolicy padding)
      : TrainableState(class_name, source, std::move(weights)),
        descriptor_(convolution_source()->descriptor()),
        padding_(padding) {
    validate(descriptor_, class_name);
    const std::int64_t channels = source.size().feature_channels;
    if (channels == descriptor_.input_feature_channels) return;
    throw ShapeError(
        {.op = class_name,
         .node = convolution_source()->name(),
         .what = "the source does not have the channels of the weights",
         .expected = std::to_string(descriptor_.input_feature_channels),
         .got = std::to_string(channels),
         .hint = {}});
  }

  FilterAttributes attributes(const NodeProgram&) const override {
    return ConvolutionFilter{
        .descriptor = descriptor_,
        .padding = padding_,
        .is_fully_connected = class_name == "FullyConnectedNode"};
  }
  const ConvolutionDescriptor& descriptor() const { return descriptor_; }
  const PaddingPolicy& padding() const { return padding_; }

  ValueId lower(FilterBuilder& b) const override {
    const PaddedSource padded = pad_source(b, padding_, window_of(descriptor_));
    const Convolution2dAttrs attrs{.strides = descriptor_.strides,
                                   .dilation_rates = descriptor_.dilation_rates,
                                   .padding = padded.padding,
                                   .groups = groups()};
    return b.append(
        OpKind::Convolution2d, attrs,
        {padded.image, b.transpose(weights(b), {0, 3, 1, 2}), biases(b)});
  }

 protected:
  std::int64_t groups() const {
    return descriptor_.is_depthwise ? descriptor_.input_feature_channels
                                    : descriptor_.groups;
  }
  /// (out, height, width, in / groups).
  ValueId weights(FilterBuilder& b) const {
    const auto& d = descriptor_;
    return b.parameter(convolution_source(), "weights",
                       {d.output_feature_channels, d.kernel_size[0],
                        d.kernel_size[1], d.input_feature_channels / groups()});
  }
  /// Zeros that nobody trains when the data source has none.
  ValueId biases(FilterBuilder& b) const {
    return b.parameter(convolution_source(), "biases",
                       {descriptor_.output_feature_channels});
  }

 private:
  ConvolutionDescriptor descriptor_;
  PaddingPolicy padding_;
};

class TransposeState : public ConvolutionState {
 public:
  TransposeState(const ImageNode& source, ConvolutionDataSourcePtr weights,
                 PaddingPolicy padding, std::shared_ptr<FilterState> inverse)
      : ConvolutionState("ConvolutionTransposeNode", source, std::move(weights),
                         padding),
        inverse_(std::move(inverse)) {
    const char* op = "ConvolutionTransposeNode";
    require_option(groups() == 1, op, "groups", "1", std::to_string(groups()),
                   "Use a convolution for each group.");
    if (!inverse_) return;
    const auto& d = descriptor();
    const auto* of = dynamic_cast<const ConvolutionState*>(inverse_.get());
    const bool fits = of != nullptr &&
                      of->descriptor().kernel_size == d.kernel_size &&
                      of->descriptor().strides == d.strides &&
                      of->descriptor().dilation_rates == d.dilation_rates &&
                      of->result.size.height == source.size().height &&
                      of->result.size.width == source.size().width;
    require_option(fits, op, "convolution_gradient_state",
                   "that of a convolution with this window whose result is of "
                   "the source's size",
                   "that of " + name_of(*inverse_));
  }

  FilterAttributes attributes(const NodeProgram& program) const override {
    return ConvolutionTransposeFilter{
        .descriptor = descriptor(),
        .padding = padding(),
        .inverse = inverse_ ? program.index_of(*inverse_) : -1};
  }
  ValueId lower(FilterBuilder& b) const override {
    const auto& d = descriptor();
    const Shape shape = b.shape(b.source());
    Convolution2dGradientAttrs attrs{
        .strides = d.strides,
        .dilation_rates = d.dilation_rates,
        .padding = {},
        .groups = 1,
        .shape = {shape[0], d.output_feature_channels, 1, 1}};
    for (int axis = 0; axis < 2; ++axis) {
      const Placement placed = place(axis, shape[2 + axis]);
      if (placed.count < 1) {
        throw ShapeError(
            ErrorInfo{.op = {},
                      .node = b.name(),
                      .what = "padding leaves nothing of the result",
                      .expected = "an extent of at least 1",
                      .got = std::to_string(placed.count),
                      .hint = "Use PaddingExtent::Full."});
      }
      attrs.shape[2 + axis] = placed.count;
      attrs.padding[2 * axis] = placed.before;
      attrs.padding[2 * axis + 1] = placed.after;
    }
    const ValueId result =
        b.append(OpKind::Convolution2dInputGradient, attrs,
                 {b.source(), b.transpose(weights(b), {3, 0, 1, 2})});
    const ValueId bias =
        b.reshape(biases(b), {1, d.output_feature_channels, 1, 1});
    return b.binary(ArithmeticOperation::Add, result, bias);
  }

 private:
  /// The padding of the convolution that this is the input gradient of.
  Placement place(int axis, std::int64_t n) const {
    const auto image_axis = axis == 0 ? ImageAxis::Height : ImageAxis::Width;
    const AxisWindow window = window_of(descriptor()).axis(axis);
    if (!inverse_) return place_spread(padding(), n, window, image_axis);
    const auto& of = static_cast<const ConvolutionState&>(*inverse_);
    const ImageSize size = of.sources.front().size();
    const std::int64_t extent = axis == 0 ? size.height : size.width;
    Placement placed = place_windows(of.padding(), extent, window, image_axis);
    placed.count = extent;
    return placed;
  }

  std::shared_ptr<FilterState> inverse_;
};

ConvolutionDataSourcePtr covering(const ImageNode& source,
                                  ConvolutionDataSourcePtr weights) {
  if (!source || !weights) return weights;
  const ImageSize size = source.size();
  const Pair kernel = weights->descriptor().kernel_size;
  if (kernel == Pair{size.height, size.width}) return weights;
  throw ShapeError(
      ErrorInfo{.op = "FullyConnectedNode",
                .node = weights->name(),
                .what = "the kernel does not cover the image",
                .expected = Shape{size.height, size.width}.to_string(),
                .got = Shape(kernel).to_string(),
                .hint = {}});
}

constexpr PaddingPolicy kValid{.extent = PaddingExtent::ValidOnly};

}  // namespace

bool ConvolutionDataSource::update(const ConvolutionGradients&) {
  throw UnsupportedError(
      {.op = "update",
       .node = name(),
       .what = "the data source does not update its weights",
       .expected = "an update() of its own for TrainingStyle::CPU",
       .got = "none",
       .hint = "Give it an optimizer and use TrainingStyle::GPU."});
}

ConvolutionNode::ConvolutionNode(const ImageNode& source,
                                 ConvolutionDataSourcePtr weights,
                                 PaddingPolicy padding)
    : TrainableNode(make_filter<ConvolutionState>(
          "ConvolutionNode", source, std::move(weights), padding)) {}

FullyConnectedNode::FullyConnectedNode(const ImageNode& source,
                                       ConvolutionDataSourcePtr weights)
    : TrainableNode(make_filter<ConvolutionState>(
          "FullyConnectedNode", source, covering(source, std::move(weights)),
          kValid)) {}

ConvolutionTransposeNode::ConvolutionTransposeNode(
    const ImageNode& source, ConvolutionDataSourcePtr weights,
    PaddingPolicy padding)
    : TrainableNode(make_filter<TransposeState>(source, std::move(weights),
                                                padding, nullptr)) {}

ConvolutionTransposeNode::ConvolutionTransposeNode(
    const ImageNode& source, const StateNode& convolution_gradient_state,
    ConvolutionDataSourcePtr weights)
    : TrainableNode(make_filter<TransposeState>(
          source, std::move(weights), PaddingPolicy{},
          convolution_gradient_state
              ? convolution_gradient_state.filter().state()
              : nullptr)) {}

}  // namespace traingraph::nodes
