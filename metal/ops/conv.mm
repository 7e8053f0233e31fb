// SPDX-License-Identifier: MIT
// Convolution and its gradients: NCHW images, OIHW weights, explicit padding.
#import "metal/ops/layout_moves.h"
#include "metal/tiles.h"

namespace traingraph::metal {
namespace {

template <class Attrs>
MPSGraphConvolution2DOpDescriptor* descriptor(const Attrs& attrs) {
  const auto [top, bottom, left, right] = attrs.padding;
  return [MPSGraphConvolution2DOpDescriptor
      descriptorWithStrideInX:attrs.strides[1]
                    strideInY:attrs.strides[0]
              dilationRateInX:attrs.dilation_rates[1]
              dilationRateInY:attrs.dilation_rates[0]
                       groups:attrs.groups
                  paddingLeft:left
                 paddingRight:right
                   paddingTop:top
                paddingBottom:bottom
                 paddingStyle:MPSGraphPaddingStyleExplicit
                   dataLayout:MPSGraphTensorNamedDataLayoutNCHW
                weightsLayout:MPSGraphTensorNamedDataLayoutOIHW];
}

/// Some of the images.
T cut(GraphBuilder& b, T images, const Tile& tile, std::int64_t count) {
  if (tile.length == count) return images;
  return slice_axis(b, images, 0, tile.start, tile.length);
}

}  // namespace

void lower_convolution_2d(GraphBuilder& b) {
  T y = [b.graph()
      convolution2DWithSourceTensor:b.input(0)
                      weightsTensor:b.input(1)
                         descriptor:descriptor(b.attrs<Convolution2dAttrs>())
                               name:b.name()];
  if (b.has(2)) {
    y = b.add(y, b.reshape(b.input(2), {1, b.result_shape()[1], 1, 1}));
  }
  b.set(y);
}

void lower_convolution_2d_input_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<Convolution2dGradientAttrs>();
  b.set([b.graph()
      convolution2DDataGradientWithIncomingGradientTensor:b.input(0)
                                            weightsTensor:b.input(1)
                                              outputShape:ns_shape(attrs.shape)
                             forwardConvolutionDescriptor:descriptor(attrs)
                                                     name:b.name()]);
}

void lower_convolution_2d_weights_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<Convolution2dGradientAttrs>();
  const std::int64_t count = b.input_shape(0)[0];
  T sum = nil;
  for (const Tile& tile : tiles_of(count, b.limits().max_gradient_images)) {
    T g = cut(b, b.input(0), tile, count), x = cut(b, b.input(1), tile, count);
    // outputShape is that of the weights, whatever Apple's comment says.
    T dw = [b.graph()
        convolution2DWeightsGradientWithIncomingGradientTensor:g
                                                  sourceTensor:x
                                                   outputShape:ns_shape(
                                                                   attrs.shape)
                                  forwardConvolutionDescriptor:descriptor(attrs)
                                                          name:b.name()];
    sum = sum ? b.add(sum, dw) : dw;
  }
  b.set(sum);
}

}  // namespace traingraph::metal
