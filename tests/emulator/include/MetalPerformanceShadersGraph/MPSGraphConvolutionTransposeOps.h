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
- (MPSGraphTensor*)
    convolutionTranspose2DDataGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                   weightsTensor:
                                                       (MPSGraphTensor*)weights
                                                     outputShape:
                                                         (MPSShape*)outputShape
                                    forwardConvolutionDescriptor:
                                        (MPSGraphConvolution2DOpDescriptor*)
                                            descriptor
                                                            name:
                                                                (NSString*)name;
- (MPSGraphTensor*)
    convolutionTranspose2DWeightsGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                       sourceTensor:
                                                           (MPSGraphTensor*)
                                                               source
                                                        outputShape:
                                                            (MPSShape*)
                                                                outputShape
                                       forwardConvolutionDescriptor:
                                           (MPSGraphConvolution2DOpDescriptor*)
                                               descriptor
                                                               name:(NSString*)
                                                                        name;
@end
