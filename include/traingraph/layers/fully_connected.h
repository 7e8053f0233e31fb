// SPDX-License-Identifier: MIT
// Fully connected layer: a matrix product over the last axis.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "traingraph/layers/convolution.h"
#include "traingraph/layers/weights.h"

namespace traingraph::layers {

/// y = x W^T + b: (*, in) -> (*, out) with one or more leading axes, and
/// (N, in, 1, 1) -> (N, out, 1, 1).
///
/// Weights are (out, in), or with the same bytes (out * in), biases (out), each
/// with axes of size 1 wherever: (1, out * in, 1, 1), (1, out).
class TRAINGRAPH_API FullyConnected : public WeightedLayer {
 public:
  FullyConnected(std::int64_t input_feature_channel_count,
                 std::int64_t output_feature_channel_count,
                 const WeightOptions& options = {});
  /// The input channels are those of the source.
  explicit FullyConnected(std::int64_t output_feature_channel_count,
                          const WeightOptions& options = {});
  /// Takes ML Compute's form. Throws InvalidArgument for a descriptor of
  /// anything but a 1 x 1 convolution of type Standard; its kernel may be left
  /// out, or be (in, out), as programs for ML Compute have it.
  explicit FullyConnected(const ConvolutionDescriptor& descriptor,
                          const WeightOptions& options = {});
  /// Channel counts from weights of shape (out, in).
  explicit FullyConnected(const Tensor& weights, Tensor biases = {},
                          bool uses_biases = true);

  /// Input channels are 0 until the layer is built.
  ConvolutionDescriptor descriptor() const;
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  ConvolutionDescriptor descriptor_;
};

/// PyTorch's name of a fully connected layer. ML Compute's linear layer is
/// Affine.
using Linear = FullyConnected;

}  // namespace traingraph::layers
