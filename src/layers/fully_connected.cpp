// SPDX-License-Identifier: MIT
#include "traingraph/layers/fully_connected.h"

#include <utility>

#include "layers/rows.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

constexpr const char* kFullyConnected = "FullyConnected";

ConvolutionDescriptor descriptor_of(std::int64_t inputs, std::int64_t outputs) {
  return {.kernel_size = {1, 1},
          .input_feature_channel_count = inputs,
          .output_feature_channel_count = outputs};
}

ConvolutionDescriptor descriptor_of(const Tensor& weights) {
  require_option(static_cast<bool>(weights), kFullyConnected, "weights",
                 "a tensor", "none");
  const Shape& shape = weights.shape();
  if (shape.rank() == 2) return descriptor_of(shape[1], shape[0]);
  throw ShapeError(
      ErrorInfo{.op = kFullyConnected,
                .node = weights.name(),
                .what = "channel counts come from the weights",
                .expected = "(out, in)",
                .got = shape.to_string(),
                .hint = "Give the channel counts for other shapes."});
}

/// Throws InvalidArgument for what is no number of channels.
std::int64_t given_inputs(std::int64_t inputs) {
  require_positive(kFullyConnected, "input_feature_channel_count", inputs);
  return inputs;
}

/// The descriptor's channel counts, and that it says nothing else.
ConvolutionDescriptor checked(const ConvolutionDescriptor& descriptor) {
  const std::int64_t inputs = descriptor.input_feature_channel_count;
  const std::int64_t outputs = descriptor.output_feature_channel_count;
  if (inputs != 0) given_inputs(inputs);
  require_positive(kFullyConnected, "output_feature_channel_count", outputs);
  const ConvolutionDescriptor expected = descriptor_of(inputs, outputs);
  const auto require_same = [](const char* field, const auto& value,
                               const auto& only) {
    require_option(value == only, kFullyConnected, field, format_value(only),
                   format_value(value), "Use a convolution.");
  };
  require_option(descriptor.convolution_type == expected.convolution_type,
                 kFullyConnected, "convolution_type",
                 std::string(to_string(expected.convolution_type)),
                 std::string(to_string(descriptor.convolution_type)),
                 "Use a convolution.");
  const bool is_kernel = descriptor.kernel_size == Pair{} ||  // not given
                         descriptor.kernel_size == expected.kernel_size ||
                         descriptor.kernel_size == Pair{inputs, outputs};
  require_option(is_kernel, kFullyConnected, "kernel_size",
                 format_value(expected.kernel_size) + " or (in, out), " +
                     format_value(Pair{inputs, outputs}),
                 format_value(descriptor.kernel_size), "Use a convolution.");
  require_same("group_count", descriptor.group_count, expected.group_count);
  require_same("strides", descriptor.strides, expected.strides);
  require_same("dilation_rates", descriptor.dilation_rates,
               expected.dilation_rates);
  require_same("padding_sizes", descriptor.padding_sizes,
               expected.padding_sizes);
  return expected;
}

}  // namespace

FullyConnected::FullyConnected(std::int64_t input_feature_channel_count,
                               std::int64_t output_feature_channel_count,
                               const WeightOptions& options)
    : FullyConnected(descriptor_of(given_inputs(input_feature_channel_count),
                                   output_feature_channel_count),
                     options) {}

FullyConnected::FullyConnected(std::int64_t output_feature_channel_count,
                               const WeightOptions& options)
    : FullyConnected(descriptor_of(/*inputs=*/0, output_feature_channel_count),
                     options) {}

FullyConnected::FullyConnected(const ConvolutionDescriptor& descriptor,
                               const WeightOptions& options)
    : WeightedLayer(kFullyConnected, options),
      descriptor_(checked(descriptor)) {
  set_size(descriptor_.input_feature_channel_count);
}

FullyConnected::FullyConnected(const Tensor& weights, Tensor biases,
                               bool uses_biases)
    : FullyConnected(descriptor_of(weights),
                     WeightOptions{.weights = weights,
                                   .biases = std::move(biases),
                                   .uses_biases = uses_biases}) {}

ConvolutionDescriptor FullyConnected::descriptor() const {
  return descriptor_of(size(), descriptor_.output_feature_channel_count);
}

Shape FullyConnected::sizes_of(const std::vector<Shape>& sources) const {
  static constexpr const char* kExpected = "(..., in) or (N, in, 1, 1)";
  const Shape& shape = sources.front();
  const bool has_pixels = shape.rank() == 4 && shape[2] == 1 && shape[3] == 1;
  return {size_of(sources, has_pixels ? 1 : -1, kExpected)};
}

std::unique_ptr<SizedLayer::Parts> FullyConnected::make(
    const Shape& sizes) const {
  const Shape matrix{descriptor_.output_feature_channel_count, sizes[0]};
  const Shape flat{1, matrix.num_elements(), 1, 1};
  const Tensor& weights = options().weights;
  const Shape given = weights ? weights.shape() : matrix;
  const bool is_same =
      squeezed(given) == squeezed(matrix) || squeezed(given) == squeezed(flat);
  return make_weights(sizes, matrix, is_same ? given : flat);
}

bool FullyConnected::supports_data_type(DataType data_type,
                                        const Device& device) {
  return takes(OpKind::MatMul, data_type, device);
}

void FullyConnected::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const std::int64_t inputs = size();
  const std::int64_t outputs = descriptor_.output_feature_channel_count;
  const Rows rows(builder, inputs);
  std::vector<ValueId> operands{
      rows.value(), builder.variable(weights(), {outputs, inputs}, "weights")};
  if (biases()) {
    operands.push_back(builder.variable(biases(), {outputs}, "biases"));
  }
  const ValueId y = builder.append(
      OpKind::MatMul, MatMulAttrs{.transposes_y = true}, std::move(operands));
  builder.add_result(rows.restore(builder, y, outputs));
}

}  // namespace traingraph::layers
