// SPDX-License-Identifier: MIT
// 2-D convolutions and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

#define EMULATED_CONVOLUTION                                                 \
  EMULATED_STRIDES, EMULATED_DILATION, EMULATED_SIDES, (NSUInteger, groups), \
      EMULATED_STYLE_AND_WEIGHTS

@interface MPSGraphConvolution2DOpDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_CONVOLUTION)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_CONVOLUTION)
+ EMULATED_FROM(descriptor, StrideInX, NSUInteger, strideInX,
                (NSUInteger, strideInY), EMULATED_DILATION,
                (NSUInteger, groups), EMULATED_SIDES,
                EMULATED_STYLE_AND_WEIGHTS);
+ EMULATED_FROM(descriptor, StrideInX, NSUInteger, strideInX,
                (NSUInteger, strideInY), EMULATED_DILATION,
                (NSUInteger, groups), EMULATED_STYLE_AND_WEIGHTS);
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

// clang-format off
/// The gradients of a convolution have the same methods for every OP.
#define EMULATED_DATA_GRADIENT(OP, KEYWORD, DESCRIPTOR) \
  (MPSGraphTensor*)OP##DataGradientWithIncomingGradientTensor: \
      (MPSGraphTensor*)incomingGradient \
      weightsTensor:(MPSGraphTensor*)weights \
      outputShape:(MPSShape*)outputShape \
      KEYWORD:(DESCRIPTOR*)descriptor \
      name:(NSString*)name
#define EMULATED_WEIGHTS_GRADIENT(OP, KEYWORD, DESCRIPTOR) \
  (MPSGraphTensor*)OP##WeightsGradientWithIncomingGradientTensor: \
      (MPSGraphTensor*)incomingGradient \
      sourceTensor:(MPSGraphTensor*)source \
      outputShape:(MPSShape*)outputShape \
      KEYWORD:(DESCRIPTOR*)descriptor \
      name:(NSString*)name
// clang-format on

@interface MPSGraph (MPSGraphConvolutionOps)
- (MPSGraphTensor*)
    convolution2DWithSourceTensor:(MPSGraphTensor*)source
                    weightsTensor:(MPSGraphTensor*)weights
                       descriptor:(MPSGraphConvolution2DOpDescriptor*)descriptor
                             name:(NSString*)name;
- EMULATED_DATA_GRADIENT(convolution2D, forwardConvolutionDescriptor,
                         MPSGraphConvolution2DOpDescriptor);
- EMULATED_WEIGHTS_GRADIENT(convolution2D, forwardConvolutionDescriptor,
                            MPSGraphConvolution2DOpDescriptor);
@end
