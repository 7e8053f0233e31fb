// SPDX-License-Identifier: MIT
// Depthwise 2-D and 3-D convolutions and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphConvolutionOps.h>

#define EMULATED_DEPTHWISE_CONVOLUTION                 \
  EMULATED_STRIDES, EMULATED_DILATION, EMULATED_SIDES, \
      EMULATED_STYLE_AND_WEIGHTS

@interface MPSGraphDepthwiseConvolution2DOpDescriptor
    : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_DEPTHWISE_CONVOLUTION)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_DEPTHWISE_CONVOLUTION)
+ EMULATED_FROM(descriptor, StrideInX, NSUInteger, strideInX,
                (NSUInteger, strideInY), EMULATED_DILATION, EMULATED_SIDES,
                EMULATED_STYLE_AND_WEIGHTS);
+ EMULATED_FROM(descriptor, DataLayout, MPSGraphTensorNamedDataLayout,
                dataLayout, (MPSGraphTensorNamedDataLayout, weightsLayout));
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

#define EMULATED_LISTS_OF_3D                                            \
  (NSArray<NSNumber*>*, strides), (NSArray<NSNumber*>*, dilationRates), \
      (NSArray<NSNumber*>*, paddingValues)
#define EMULATED_NUMBERS_OF_3D \
  (MPSGraphPaddingStyle, paddingStyle), (NSInteger, channelDimensionIndex)

@interface MPSGraphDepthwiseConvolution3DOpDescriptor
    : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_LISTS_OF_3D)
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_NUMBERS_OF_3D)
}
EMULATED_EACH(EMULATED_COPIED, EMULATED_LISTS_OF_3D)
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_NUMBERS_OF_3D)
+ EMULATED_FROM(descriptor, Strides, NSArray<NSNumber*>*, strides,
                (NSArray<NSNumber*>*, dilationRates),
                (NSArray<NSNumber*>*, paddingValues),
                (MPSGraphPaddingStyle, paddingStyle));
+ EMULATED_FROM(descriptor, PaddingStyle, MPSGraphPaddingStyle, paddingStyle);
@end

@interface MPSGraph (MPSGraphDepthwiseConvolutionOps)
- (MPSGraphTensor*)
    depthwiseConvolution2DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution2DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name;
- EMULATED_DATA_GRADIENT(depthwiseConvolution2D, descriptor,
                         MPSGraphDepthwiseConvolution2DOpDescriptor);
- EMULATED_WEIGHTS_GRADIENT(depthwiseConvolution2D, descriptor,
                            MPSGraphDepthwiseConvolution2DOpDescriptor);
- (MPSGraphTensor*)
    depthwiseConvolution3DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution3DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name;
- EMULATED_DATA_GRADIENT(depthwiseConvolution3D, descriptor,
                         MPSGraphDepthwiseConvolution3DOpDescriptor);
- EMULATED_WEIGHTS_GRADIENT(depthwiseConvolution3D, descriptor,
                            MPSGraphDepthwiseConvolution3DOpDescriptor);
@end
