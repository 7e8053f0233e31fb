// SPDX-License-Identifier: MIT
#include "traingraph/layers/convolution.h"

#include <algorithm>
#include <utility>

#include "layers/layer_builder.h"
#include "layers/one_row.h"
#include "layers/validate.h"
#include "ops/window.h"

namespace traingraph {
namespace {

constexpr const char* kConvolution = "Convolution";

/// A factory's own value of a field, or what the field is by default.
void require_own(bool ok, const char* field, std::string expected,
                 std::string got) {
  require_option(ok, kConvolution, field, std::move(expected), std::move(got),
                 "The factory sets it.");
}

void require_divides(std::int64_t count, std::int64_t groups,
                     const char* field) {
  require_option(count % groups == 0, kConvolution, field,
                 "a multiple of " + std::to_string(groups),
                 std::to_string(count));
}

}  // namespace

ConvolutionDescriptor ConvolutionDescriptor::transposed(
    ConvolutionDescriptor options) {
  require_own(options.convolution_type == ConvolutionType::Standard ||
                  options.is_convolution_transpose(),
              "convolution_type", "transposed",
              std::string(to_string(options.convolution_type)));
  options.convolution_type = ConvolutionType::Transposed;
  options.validate();
  return options;
}

ConvolutionDescriptor ConvolutionDescriptor::depthwise(
    ConvolutionDescriptor options, std::int64_t channel_multiplier) {
  require_positive(kConvolution, "channel_multiplier", channel_multiplier);
  require_own(options.convolution_type == ConvolutionType::Standard ||
                  options.uses_depthwise_convolution(),
              "convolution_type", "depthwise",
              std::string(to_string(options.convolution_type)));
  options.convolution_type = ConvolutionType::Depthwise;
  const std::int64_t given = options.output_feature_channel_count;
  options.output_feature_channel_count =
      Shape{options.input_feature_channel_count, channel_multiplier}
          .num_elements();
  require_own(given == 0 || given == options.output_feature_channel_count,
              "output_feature_channel_count",
              std::to_string(options.output_feature_channel_count),
              std::to_string(given));
  options.validate();
  return options;
}

void ConvolutionDescriptor::validate() const {
  require_option(to_string(convolution_type) != "?", kConvolution,
                 "convolution_type", "a case of ConvolutionType",
                 std::to_string(static_cast<int>(convolution_type)));
  require_kernel(kConvolution, kernel_size);
  require_positive(kConvolution, "input_feature_channel_count",
                   input_feature_channel_count);
  require_positive(kConvolution, "output_feature_channel_count",
                   output_feature_channel_count);
  require_positive(kConvolution, "group_count", group_count);
  require_positive(kConvolution, "strides", strides);
  require_positive(kConvolution, "dilation_rates", dilation_rates);
  require_option(to_string(padding_policy) != "?", kConvolution,
                 "padding_policy", "a case of PaddingPolicy",
                 std::to_string(static_cast<int>(padding_policy)));
  require_padding_sizes(kConvolution, padding_policy, padding_sizes);
  if (uses_depthwise_convolution()) {
    require_option(
        group_count == 1 || group_count == input_feature_channel_count,
        kConvolution, "group_count",
        "1 (not used) or the input channels for depthwise",
        std::to_string(group_count));
    return require_divides(output_feature_channel_count,
                           input_feature_channel_count,
                           "output_feature_channel_count");
  }
  require_divides(input_feature_channel_count, group_count,
                  "input_feature_channel_count");
  require_divides(output_feature_channel_count, group_count,
                  "output_feature_channel_count");
}

namespace layers {
namespace {

AxisWindow window_of(const ConvolutionDescriptor& descriptor, int axis) {
  return {.kernel = descriptor.kernel_size[axis],
          .stride = descriptor.strides[axis],
          .dilation = descriptor.dilation_rates[axis]};
}

void require_image(const LayerBuilder& builder, std::int64_t channels) {
  const Shape& shape = builder.shape(builder.source(0));
  const bool has_rank = shape.rank() == 3 || shape.rank() == 4;
  if (has_rank && shape[1] == channels) return;
  throw ShapeError(ErrorInfo{
      .op = "node",
      .node = builder.name(),
      .what = "the source does not fit the layer",
      .expected = "(N, " + std::to_string(channels) + ", H, W), or (N, " +
                  std::to_string(channels) + ", L)",
      .got = shape.to_string(),
      .hint = "Check the data layout (NCHW) and the input "
              "feature channel count."});
}

std::int64_t groups_of(const ConvolutionDescriptor& descriptor) {
  return descriptor.uses_depthwise_convolution()
             ? descriptor.input_feature_channel_count
             : descriptor.group_count;
}

/// (out, in / groups, height, width).
Shape weights_shape(const ConvolutionDescriptor& descriptor) {
  return {descriptor.output_feature_channel_count,
          descriptor.input_feature_channel_count / groups_of(descriptor),
          descriptor.kernel_height(), descriptor.kernel_width()};
}

/// Convolves an image with the parameters of `layer`.
ValueId standard(LayerBuilder& builder, const Convolution& layer,
                 const ConvolutionDescriptor& descriptor, ValueId x) {
  const Shape shape = builder.shape(x);
  Convolution2dAttrs attrs{.strides = descriptor.strides,
                           .dilation_rates = descriptor.dilation_rates,
                           .padding = {},
                           .groups = groups_of(descriptor)};
  for (int axis = 0; axis < 2; ++axis) {
    const AxisPadding padding = resolve_padding(
        descriptor.padding_policy, shape[2 + axis], window_of(descriptor, axis),
        descriptor.padding_sizes[axis]);
    attrs.padding[2 * axis] = padding.before;
    attrs.padding[2 * axis + 1] = padding.after;
  }
  std::vector<ValueId> inputs{
      x,
      builder.variable(layer.weights(), weights_shape(descriptor), "weights")};
  if (layer.biases()) {
    inputs.push_back(builder.variable(
        layer.biases(), {descriptor.output_feature_channel_count}, "biases"));
  }
  return builder.append(OpKind::Convolution2d, attrs, std::move(inputs));
}

// The input gradient of a convolution from `out` to `in` channels, with the
// weights of each group transposed:
//   (g * O/g, I/g, h, w) -> (g, O/g, I/g, h, w) -> (g, I/g, O/g, h, w)
//   -> (I, O/g, h, w)
ValueId transposed(LayerBuilder& builder, const Convolution& layer,
                   const ConvolutionDescriptor& descriptor, ValueId x) {
  const Shape shape = builder.shape(x);
  const std::int64_t inputs = descriptor.input_feature_channel_count;
  const std::int64_t outputs = descriptor.output_feature_channel_count;
  const std::int64_t height = descriptor.kernel_height();
  const std::int64_t width = descriptor.kernel_width();
  const std::int64_t group_outputs = outputs / groups_of(descriptor);
  const std::int64_t group_inputs = inputs / groups_of(descriptor);

  Convolution2dGradientAttrs attrs{.strides = descriptor.strides,
                                   .dilation_rates = descriptor.dilation_rates,
                                   .padding = {},
                                   .groups = groups_of(descriptor),
                                   .shape = {shape[0], outputs, 1, 1}};
  for (int axis = 0; axis < 2; ++axis) {
    const TransposedAxis resolved = resolve_transposed_padding(
        descriptor.padding_policy, shape[2 + axis], window_of(descriptor, axis),
        descriptor.padding_sizes[axis]);
    if (resolved.out < 1) {
      throw ShapeError(ErrorInfo{.op = "node",
                                 .node = builder.name(),
                                 .what = "padding leaves nothing of the result",
                                 .expected = "an extent of at least 1",
                                 .got = std::to_string(resolved.out),
                                 .hint = "Use less padding."});
    }
    attrs.shape[2 + axis] = resolved.out;
    attrs.padding[2 * axis] = resolved.padding.before;
    attrs.padding[2 * axis + 1] = resolved.padding.after;
  }

  ValueId weights =
      builder.variable(layer.weights(), weights_shape(descriptor), "weights");
  if (groups_of(descriptor) > 1) {
    weights = builder.append(
        OpKind::Reshape,
        ShapeAttrs{{-1, group_outputs, group_inputs, height, width}},
        {weights});
    weights = builder.append(OpKind::Transpose, TransposeAttrs{{0, 2, 1, 3, 4}},
                             {weights});
    weights = builder.append(OpKind::Reshape,
                             ShapeAttrs{{-1, group_outputs, height, width}},
                             {weights});
  } else {
    weights = builder.append(OpKind::Transpose, TransposeAttrs{{1, 0, 2, 3}},
                             {weights});
  }
  ValueId result =
      builder.append(OpKind::Convolution2dInputGradient, attrs, {x, weights});
  if (layer.biases()) {
    const ValueId bias =
        builder.variable(layer.biases(), {1, outputs, 1, 1}, "biases");
    result = builder.append(
        OpKind::Binary, ArithmeticAttrs{.operation = ArithmeticOperation::Add},
        {result, bias});
  }
  return result;
}

}  // namespace

Convolution::Convolution(ConvolutionDescriptor descriptor,
                         const WeightOptions& options)
    : WeightedLayer(kConvolution, options), descriptor_(descriptor) {
  const std::int64_t inputs = descriptor.input_feature_channel_count;
  if (inputs == 0) {  // any number that could do, for all else to be checked
    descriptor.input_feature_channel_count =
        std::max<std::int64_t>(1, descriptor.group_count);
  }
  descriptor.validate();
  set_size(inputs);
}

Convolution::Convolution(std::int64_t input_feature_channel_count,
                         std::int64_t output_feature_channel_count,
                         std::int64_t kernel_size, PaddingPolicy padding_policy,
                         const WeightOptions& options)
    : Convolution(
          ConvolutionDescriptor{
              .kernel_size = {kernel_size, kernel_size},
              .input_feature_channel_count = input_feature_channel_count,
              .output_feature_channel_count = output_feature_channel_count,
              .padding_policy = padding_policy},
          options) {
  require_positive(kConvolution, "input_feature_channel_count",
                   input_feature_channel_count);
}

Convolution::Convolution(std::int64_t output_feature_channel_count,
                         std::int64_t kernel_size, PaddingPolicy padding_policy,
                         const WeightOptions& options)
    : Convolution(
          ConvolutionDescriptor{
              .kernel_size = {kernel_size, kernel_size},
              .output_feature_channel_count = output_feature_channel_count,
              .padding_policy = padding_policy},
          options) {}

ConvolutionDescriptor Convolution::descriptor() const {
  ConvolutionDescriptor descriptor = descriptor_;
  descriptor.input_feature_channel_count = size();
  return descriptor;
}

Shape Convolution::sizes_of(const std::vector<Shape>& sources) const {
  return {size_of(sources, 1, "(N, C, H, W), or (N, C, L)")};
}

std::unique_ptr<SizedLayer::Parts> Convolution::make(const Shape& sizes) const {
  ConvolutionDescriptor descriptor = descriptor_;
  descriptor.input_feature_channel_count = sizes[0];
  descriptor.validate();
  const Shape shape = weights_shape(descriptor);
  const std::int64_t maps = Shape{shape[0], shape[1]}.num_elements();
  return make_weights(sizes, shape, Shape{1, maps, shape[2], shape[3]});
}

bool Convolution::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Convolution2d, data_type, device);
}

void Convolution::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ConvolutionDescriptor whole = descriptor();
  require_image(builder, whole.input_feature_channel_count);
  const auto convolved = [&](const ConvolutionDescriptor& descriptor,
                             ValueId x) {
    return descriptor.is_convolution_transpose()
               ? transposed(builder, *this, descriptor, x)
               : standard(builder, *this, descriptor, x);
  };
  const ValueId x = builder.source(0);
  if (builder.shape(x).rank() == 4) {
    return builder.add_result(convolved(whole, x));
  }
  require_option(whole.kernel_height() == 1, kConvolution, "kernel_size",
                 "(1, width) for a source (N, C, L)",
                 Shape(whole.kernel_size).to_string());
  const ValueId y =
      convolved(of_one_row(kConvolution, whole), as_image(builder, x));
  builder.add_result(as_sequence(builder, y));
}

}  // namespace layers
}  // namespace traingraph
