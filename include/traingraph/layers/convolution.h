// SPDX-License-Identifier: MIT
// Convolution of NCHW images: standard, depthwise and transposed.
//
// With k' = (k - 1) * dilation + 1, the result's extents are
//   policy          convolution, pooling             transposed convolution
//   Same            ceil(in / stride)                in * stride
//   Valid           floor((in - k') / stride) + 1    (in - 1) * stride + k'
//   UsePaddingSize  with in + 2 * padding for in     that - 2 * padding
// Same pads floor(total / 2) before and the rest after (TensorFlow's rule).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layers/weights.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

/// Pairs are (height, width). Checked by the layer: InvalidArgument. A layer
/// takes input channels that are 0 from its source.
struct TRAINGRAPH_API ConvolutionDescriptor {
  ConvolutionType convolution_type = ConvolutionType::Standard;
  /// Required.
  Pair kernel_size{0, 0};
  std::int64_t input_feature_channel_count = 0;
  std::int64_t output_feature_channel_count = 0;
  /// Divides both channel counts. Depthwise: not used.
  std::int64_t group_count = 1;
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  PaddingPolicy padding_policy = PaddingPolicy::Same;
  /// (top and bottom, left and right); for UsePaddingSize: zeros pad nothing.
  Pair padding_sizes{0, 0};

  /// `options` with the type set to Transposed. Throws as validate().
  static ConvolutionDescriptor transposed(ConvolutionDescriptor options);
  /// `options` with the type set to Depthwise and input * multiplier output
  /// channels.
  static ConvolutionDescriptor depthwise(ConvolutionDescriptor options,
                                         std::int64_t channel_multiplier = 1);
  /// Throws InvalidArgument naming the first bad field.
  void validate() const;

  std::int64_t kernel_height() const { return kernel_size[0]; }
  std::int64_t kernel_width() const { return kernel_size[1]; }
  std::int64_t stride_in_y() const { return strides[0]; }
  std::int64_t stride_in_x() const { return strides[1]; }
  std::int64_t dilation_rate_in_y() const { return dilation_rates[0]; }
  std::int64_t dilation_rate_in_x() const { return dilation_rates[1]; }
  std::int64_t padding_size_in_y() const { return padding_sizes[0]; }
  std::int64_t padding_size_in_x() const { return padding_sizes[1]; }
  bool is_convolution_transpose() const {
    return convolution_type == ConvolutionType::Transposed;
  }
  bool uses_depthwise_convolution() const {
    return convolution_type == ConvolutionType::Depthwise;
  }
  bool operator==(const ConvolutionDescriptor&) const = default;
};

namespace layers {

/// (N, in, H, W) -> (N, out, H', W'):
///   y[n,o,i,j] = bias[o] + sum_{c,u,v} w[o,c,u,v] x[n, c, i sY + u dY - top,
///                                                   j sX + v dX - left]
/// Transposed convolution scatters instead: x[n,c,i,j] w[o,c,u,v] is added to
/// y[n, o, i sY + u dY - top, j sX + v dX - left].
///
/// (N, in, L) -> (N, out, L') is that of images of one row, with a kernel of
/// height 1; other fields that are pairs are (1, width), or both the width's.
///
/// Weights are (out, in / groups, height, width) for all types (depthwise:
/// (out, 1, height, width), output o reads input o / multiplier), or (1, out *
/// in / groups, height, width) with the same bytes; biases (out) or (1, out, 1,
/// 1). Created weights have fan_in = in / groups * height * width and fan_out =
/// out * height * width.
class TRAINGRAPH_API Convolution : public WeightedLayer {
 public:
  explicit Convolution(ConvolutionDescriptor descriptor,
                       const WeightOptions& options = {});
  /// Makes a square kernel with stride and dilation 1.
  Convolution(std::int64_t input_feature_channel_count,
              std::int64_t output_feature_channel_count,
              std::int64_t kernel_size,
              PaddingPolicy padding_policy = PaddingPolicy::Same,
              const WeightOptions& options = {});
  /// Makes the same, with the input channels of its source.
  Convolution(std::int64_t output_feature_channel_count,
              std::int64_t kernel_size,
              PaddingPolicy padding_policy = PaddingPolicy::Same,
              const WeightOptions& options = {});

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

}  // namespace layers
}  // namespace traingraph
