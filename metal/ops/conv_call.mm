// SPDX-License-Identifier: MIT
#import "metal/ops/conv_call.h"

namespace traingraph::metal {

bool ConvolutionCall::is_depthwise() const {
  return b_.limits().calls_depthwise && groups_ > 1 && weights_[1] == 1;
}

// MPSGraph's weights have one result per channel in three dimensions.
Shape ConvolutionCall::repeated(const Shape& image) const {
  return {image[0], weights_[0], image[2], image[3]};
}

T ConvolutionCall::repeated(T x, const Shape& image) const {
  if (multiplier() == 1) return x;
  const std::int64_t size = image[2] * image[3];
  T channels = b_.reshape(x, {image[0], groups_, 1, size});
  T all = b_.broadcast(channels, {image[0], groups_, multiplier(), size});
  return b_.reshape(all, repeated(image));
}

Shape ConvolutionCall::depthwise_weights() const {
  return {1, weights_[0], weights_[2], weights_[3]};
}

MPSGraphConvolution2DOpDescriptor* ConvolutionCall::descriptor(
    const Padding& padding) const {
  const auto [top, bottom, left, right] = padding;
  return [MPSGraphConvolution2DOpDescriptor
      descriptorWithStrideInX:strides_[1]
                    strideInY:strides_[0]
              dilationRateInX:dilation_rates_[1]
              dilationRateInY:dilation_rates_[0]
                       groups:groups_
                  paddingLeft:left
                 paddingRight:right
                   paddingTop:top
                paddingBottom:bottom
                 paddingStyle:MPSGraphPaddingStyleExplicit
                   dataLayout:MPSGraphTensorNamedDataLayoutNCHW
                weightsLayout:MPSGraphTensorNamedDataLayoutOIHW];
}

// The images are the depth of one image of three dimensions, as PyTorch has it:
// the one layout that hardware is known to get right.
MPSGraphDepthwiseConvolution3DOpDescriptor*
ConvolutionCall::depthwise_descriptor(const Padding& padding) const {
  const auto [top, bottom, left, right] = padding;
  MPSGraphDepthwiseConvolution3DOpDescriptor* descriptor =
      [MPSGraphDepthwiseConvolution3DOpDescriptor
          descriptorWithStrides:ns_list({1, strides_[0], strides_[1]})
                  dilationRates:ns_list(
                                    {1, dilation_rates_[0], dilation_rates_[1]})
                  paddingValues:ns_list({0, 0, top, bottom, left, right})
                   paddingStyle:MPSGraphPaddingStyleExplicit];
  [descriptor setChannelDimensionIndex:-3];
  return descriptor;
}

T ConvolutionCall::result(T x, const Shape& image, T weights,
                          const Padding& padding) const {
  if (!is_depthwise()) {
    return [b_.graph() convolution2DWithSourceTensor:x
                                       weightsTensor:weights
                                          descriptor:descriptor(padding)
                                                name:b_.name()];
  }
  return [b_.graph()
      depthwiseConvolution3DWithSourceTensor:repeated(x, image)
                               weightsTensor:b_.reshape(weights,
                                                        depthwise_weights())
                                  descriptor:depthwise_descriptor(padding)
                                        name:b_.name()];
}

T ConvolutionCall::input_gradient(T g, T weights, const Shape& image,
                                  const Padding& padding) const {
  if (!is_depthwise()) {
    return [b_.graph()
        convolution2DDataGradientWithIncomingGradientTensor:g
                                              weightsTensor:weights
                                                outputShape:ns_shape(image)
                               forwardConvolutionDescriptor:descriptor(padding)
                                                       name:b_.name()];
  }
  const Shape all = repeated(image);
  T dx = [b_.graph()
      depthwiseConvolution3DDataGradientWithIncomingGradientTensor:g
                                                     weightsTensor:
                                                         b_.reshape(
                                                             weights,
                                                             depthwise_weights())
                                                       outputShape:ns_shape(all)
                                                        descriptor:
                                                            depthwise_descriptor(
                                                                padding)
                                                              name:b_.name()];
  if (multiplier() == 1) return dx;
  const Shape split{image[0], groups_, multiplier(), image[2] * image[3]};
  return b_.reshape(b_.sum(b_.reshape(dx, split), split, {2}), image);
}

T ConvolutionCall::weights_gradient(T g, T x, const Shape& image,
                                    const Padding& padding) const {
  if (!is_depthwise()) {
    // outputShape is that of the weights, whatever Apple's comment says.
    return [b_.graph()
        convolution2DWeightsGradientWithIncomingGradientTensor:g
                                                  sourceTensor:x
                                                   outputShape:ns_shape(
                                                                   weights_)
                                  forwardConvolutionDescriptor:descriptor(
                                                                   padding)
                                                          name:b_.name()];
  }
  T dw = [b_.graph()
      depthwiseConvolution3DWeightsGradientWithIncomingGradientTensor:g
                                                         sourceTensor:repeated(
                                                                          x,
                                                                          image)
                                                          outputShape:
                                                              ns_shape(
                                                                  depthwise_weights())
                                                           descriptor:
                                                               depthwise_descriptor(
                                                                   padding)
                                                                 name:
                                                                     b_.name()];
  return b_.reshape(dw, weights_);
}

}  // namespace traingraph::metal
