// SPDX-License-Identifier: MIT
// Depthwise 2-D and 3-D convolutions and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

@interface MPSGraphDepthwiseConvolution2DOpDescriptor
    : MPSGraphObject <NSCopying> {
  NSUInteger _strideInX, _strideInY, _dilationRateInX, _dilationRateInY,
      _paddingLeft, _paddingRight, _paddingTop, _paddingBottom;
  MPSGraphPaddingStyle _paddingStyle;
  MPSGraphTensorNamedDataLayout _dataLayout, _weightsLayout;
}
@property(readwrite, nonatomic) NSUInteger strideInX;
@property(readwrite, nonatomic) NSUInteger strideInY;
@property(readwrite, nonatomic) NSUInteger dilationRateInX;
@property(readwrite, nonatomic) NSUInteger dilationRateInY;
@property(readwrite, nonatomic) NSUInteger paddingLeft;
@property(readwrite, nonatomic) NSUInteger paddingRight;
@property(readwrite, nonatomic) NSUInteger paddingTop;
@property(readwrite, nonatomic) NSUInteger paddingBottom;
@property(readwrite, nonatomic) MPSGraphPaddingStyle paddingStyle;
@property(readwrite, nonatomic) MPSGraphTensorNamedDataLayout dataLayout;
@property(readwrite, nonatomic) MPSGraphTensorNamedDataLayout weightsLayout;
+ (instancetype)
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                paddingLeft:(NSUInteger)paddingLeft
               paddingRight:(NSUInteger)paddingRight
                 paddingTop:(NSUInteger)paddingTop
              paddingBottom:(NSUInteger)paddingBottom
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
+ (instancetype)
    descriptorWithDataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
               weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

@interface MPSGraphDepthwiseConvolution3DOpDescriptor
    : MPSGraphObject <NSCopying> {
  NSArray<NSNumber*>*_strides, *_dilationRates, *_paddingValues;
  MPSGraphPaddingStyle _paddingStyle;
  NSInteger _channelDimensionIndex;
}
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* strides;
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* dilationRates;
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* paddingValues;
@property(readwrite, nonatomic) MPSGraphPaddingStyle paddingStyle;
@property(readwrite, nonatomic) NSInteger channelDimensionIndex;
+ (instancetype)descriptorWithStrides:(NSArray<NSNumber*>*)strides
                        dilationRates:(NSArray<NSNumber*>*)dilationRates
                        paddingValues:(NSArray<NSNumber*>*)paddingValues
                         paddingStyle:(MPSGraphPaddingStyle)paddingStyle;
+ (instancetype)descriptorWithPaddingStyle:(MPSGraphPaddingStyle)paddingStyle;
@end

@interface MPSGraph (MPSGraphDepthwiseConvolutionOps)
- (MPSGraphTensor*)
    depthwiseConvolution2DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution2DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    depthwiseConvolution2DDataGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                   weightsTensor:
                                                       (MPSGraphTensor*)weights
                                                     outputShape:
                                                         (MPSShape*)outputShape
                                                      descriptor:
                                                          (MPSGraphDepthwiseConvolution2DOpDescriptor*)
                                                              descriptor
                                                            name:
                                                                (NSString*)name;
- (MPSGraphTensor*)
    depthwiseConvolution2DWeightsGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                       sourceTensor:
                                                           (MPSGraphTensor*)
                                                               source
                                                        outputShape:
                                                            (MPSShape*)
                                                                outputShape
                                                         descriptor:
                                                             (MPSGraphDepthwiseConvolution2DOpDescriptor*)
                                                                 descriptor
                                                               name:(NSString*)
                                                                        name;
- (MPSGraphTensor*)
    depthwiseConvolution3DWithSourceTensor:(MPSGraphTensor*)source
                             weightsTensor:(MPSGraphTensor*)weights
                                descriptor:
                                    (MPSGraphDepthwiseConvolution3DOpDescriptor*)
                                        descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    depthwiseConvolution3DDataGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                   weightsTensor:
                                                       (MPSGraphTensor*)weights
                                                     outputShape:
                                                         (MPSShape*)outputShape
                                                      descriptor:
                                                          (MPSGraphDepthwiseConvolution3DOpDescriptor*)
                                                              descriptor
                                                            name:
                                                                (NSString*)name;
- (MPSGraphTensor*)
    depthwiseConvolution3DWeightsGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                                       sourceTensor:
                                                           (MPSGraphTensor*)
                                                               source
                                                        outputShape:
                                                            (MPSShape*)
                                                                outputShape
                                                         descriptor:
                                                             (MPSGraphDepthwiseConvolution3DOpDescriptor*)
                                                                 descriptor
                                                               name:(NSString*)
                                                                        name;
@end
