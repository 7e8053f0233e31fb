// SPDX-License-Identifier: MIT
// Convolution and its gradients: NCHW images, OIHW weights, explicit padding.
#import "metal/graph_builder.h"

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
  // outputShape is that of the weights, whatever Apple's comment says.
  b.set([b.graph()
      convolution2DWeightsGradientWithIncomingGradientTensor:b.input(0)
                                                sourceTensor:b.input(1)
                                                 outputShape:ns_shape(
                                                                 attrs.shape)
                                forwardConvolutionDescriptor:descriptor(attrs)
                                                        name:b.name()]);
}

}  // namespace traingraph::metal
