// SPDX-License-Identifier: MIT
// Transposed 2-D convolutions and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphConvolutionOps.h>

@interface MPSGraph (MPSGraphConvolutionTransposeOps)
- (MPSGraphTensor*)
    convolutionTranspose2DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                               outputShape:(MPSShape*)outputShape
                                descriptor:(MPSGraphConvolution2DOpDescriptor*)
                                               descriptor
                                      name:(NSString*)name;
- EMULATED_DATA_GRADIENT(convolutionTranspose2D, forwardConvolutionDescriptor,
                         MPSGraphConvolution2DOpDescriptor);
- EMULATED_WEIGHTS_GRADIENT(convolutionTranspose2D,
                            forwardConvolutionDescriptor,
                            MPSGraphConvolution2DOpDescriptor);
@end
