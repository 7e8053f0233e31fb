// SPDX-License-Identifier: MIT
// ConvolutionCall: MPSGraph's convolutions and gradients, of which depthwise
// ones have selectors of their own.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

/// A convolution of NCHW images with OIHW weights, without padding unless said
/// otherwise.
class ConvolutionCall {
 public:
  template <class Attrs>
  ConvolutionCall(GraphBuilder& b, const Attrs& attrs, const Shape& weights)
      : b_(b),
        strides_(attrs.strides),
        dilation_rates_(attrs.dilation_rates),
        groups_(attrs.groups),
        weights_(weights) {}

  T result(T x, const Shape& image, T weights, const Padding& padding) const;
  /// The gradient by an image of that shape.
  T input_gradient(T g, T weights, const Shape& image,
                   const Padding& padding) const;
  /// The images of x have that shape.
  T weights_gradient(T g, T x, const Shape& image,
                     const Padding& padding) const;

 private:
  /// Does each group have one input channel?
  bool is_depthwise() const;
  /// Results per channel.
  std::int64_t multiplier() const { return weights_[0] / groups_; }
  T repeated(T x, const Shape& image) const;
  Shape repeated(const Shape& image) const;
  Shape depthwise_weights() const;
  MPSGraphConvolution2DOpDescriptor* descriptor(const Padding& padding) const;
  MPSGraphDepthwiseConvolution3DOpDescriptor* depthwise_descriptor(
      const Padding& padding) const;

  GraphBuilder& b_;
  Pair strides_, dilation_rates_;
  std::int64_t groups_;
  Shape weights_;
};

}  // namespace traingraph::metal
