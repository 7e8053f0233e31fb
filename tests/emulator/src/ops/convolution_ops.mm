// SPDX-License-Identifier: MIT
// Convolutions: ordinary, transposed and depthwise ones with their gradients.
#include "convolution_plan.h"

using namespace emulator;

@implementation MPSGraph (MPSGraphConvolutionOps)

- (MPSGraphTensor*)
    convolution2DWithSourceTensor:(MPSGraphTensor*)source
                    weightsTensor:(MPSGraphTensor*)weights
                       descriptor:(MPSGraphConvolution2DOpDescriptor*)descriptor
                             name:(NSString*)name {
  return add_convolution(self, "convolution2D", name, source, weights,
                         descriptor);
}

- EMULATED_DATA_GRADIENT(convolution2D, forwardConvolutionDescriptor,
                         MPSGraphConvolution2DOpDescriptor) {
  return add_data_gradient(self, "convolution2DDataGradient", name,
                           incomingGradient, weights, outputShape, descriptor);
}

- EMULATED_WEIGHTS_GRADIENT(convolution2D, forwardConvolutionDescriptor,
                            MPSGraphConvolution2DOpDescriptor) {
  return add_weights_gradient(self, "convolution2DWeightsGradient", name,
                              incomingGradient, source, outputShape,
                              descriptor);
}

@end

@implementation MPSGraph (MPSGraphConvolutionTransposeOps)

- (MPSGraphTensor*)
    convolutionTranspose2DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                               outputShape:(MPSShape*)outputShape
                                descriptor:(MPSGraphConvolution2DOpDescriptor*)
                                               descriptor
                                      name:(NSString*)name {
  return add_data_gradient(self, "convolutionTranspose2D", name, source,
                           weights, outputShape, descriptor);
}

- EMULATED_DATA_GRADIENT(convolutionTranspose2D, forwardConvolutionDescriptor,
                         MPSGraphConvolution2DOpDescriptor) {
  // The gradient of a convolution's gradient is that convolution.
  MPSGraphTensor* result =
      add_convolution(self, "convolutionTranspose2DDataGradient", name,
                      incomingGradient, weights, descriptor);
  require_shape(
      "convolutionTranspose2DDataGradient", @"outputShape",
      type_of(result).shape,
      result_shape("convolutionTranspose2DDataGradient", outputShape));
  return result;
}

- EMULATED_WEIGHTS_GRADIENT(convolutionTranspose2D,
                            forwardConvolutionDescriptor,
                            MPSGraphConvolution2DOpDescriptor) {
  // Source and result of the convolution have changed places.
  return add_weights_gradient(self, "convolutionTranspose2DWeightsGradient",
                              name, source, incomingGradient, outputShape,
                              descriptor);
}

@end

@implementation MPSGraph (MPSGraphDepthwiseConvolutionOps)

- (MPSGraphTensor*)
    depthwiseConvolution2DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution2DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name {
  return add_convolution(self, "depthwiseConvolution2D", name, source, weights,
                         descriptor);
}

- EMULATED_DATA_GRADIENT(depthwiseConvolution2D, descriptor,
                         MPSGraphDepthwiseConvolution2DOpDescriptor) {
  return add_data_gradient(self, "depthwiseConvolution2DDataGradient", name,
                           incomingGradient, weights, outputShape, descriptor);
}

- EMULATED_WEIGHTS_GRADIENT(depthwiseConvolution2D, descriptor,
                            MPSGraphDepthwiseConvolution2DOpDescriptor) {
  return add_weights_gradient(self, "depthwiseConvolution2DWeightsGradient",
                              name, incomingGradient, source, outputShape,
                              descriptor);
}

- (MPSGraphTensor*)
    depthwiseConvolution3DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution3DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name {
  return add_convolution(self, "depthwiseConvolution3D", name, source, weights,
                         descriptor);
}

- EMULATED_DATA_GRADIENT(depthwiseConvolution3D, descriptor,
                         MPSGraphDepthwiseConvolution3DOpDescriptor) {
  return add_data_gradient(self, "depthwiseConvolution3DDataGradient", name,
                           incomingGradient, weights, outputShape, descriptor);
}

- EMULATED_WEIGHTS_GRADIENT(depthwiseConvolution3D, descriptor,
                            MPSGraphDepthwiseConvolution3DOpDescriptor) {
  return add_weights_gradient(self, "depthwiseConvolution3DWeightsGradient",
                              name, incomingGradient, source, outputShape,
                              descriptor);
}

@end
