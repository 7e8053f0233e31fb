// SPDX-License-Identifier: MIT
// 2-D convolutions and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

@interface MPSGraphConvolution2DOpDescriptor : MPSGraphObject <NSCopying> {
  NSUInteger _strideInX, _strideInY, _dilationRateInX, _dilationRateInY,
      _paddingLeft, _paddingRight, _paddingTop, _paddingBottom, _groups;
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
@property(readwrite, nonatomic) NSUInteger groups;
@property(readwrite, nonatomic) MPSGraphPaddingStyle paddingStyle;
@property(readwrite, nonatomic) MPSGraphTensorNamedDataLayout dataLayout;
@property(readwrite, nonatomic) MPSGraphTensorNamedDataLayout weightsLayout;
+ (instancetype)
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                     groups:(NSUInteger)groups
                paddingLeft:(NSUInteger)paddingLeft
               paddingRight:(NSUInteger)paddingRight
                 paddingTop:(NSUInteger)paddingTop
              paddingBottom:(NSUInteger)paddingBottom
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
+ (instancetype)
    descriptorWithStrideInX:(NSUInteger)strideInX
                  strideInY:(NSUInteger)strideInY
            dilationRateInX:(NSUInteger)dilationRateInX
            dilationRateInY:(NSUInteger)dilationRateInY
                     groups:(NSUInteger)groups
               paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                 dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
              weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

@interface MPSGraph (MPSGraphConvolutionOps)
- (MPSGraphTensor*)
    convolution2DWithSourceTensor:(MPSGraphTensor*)source
                    weightsTensor:(MPSGraphTensor*)weights
                       descriptor:(MPSGraphConvolution2DOpDescriptor*)descriptor
                             name:(NSString*)name;
- (MPSGraphTensor*)
    convolution2DDataGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                          weightsTensor:(MPSGraphTensor*)weights
                                            outputShape:(MPSShape*)outputShape
                           forwardConvolutionDescriptor:
                               (MPSGraphConvolution2DOpDescriptor*)descriptor
                                                   name:(NSString*)name;
- (MPSGraphTensor*)
    convolution2DWeightsGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)incomingGradient
                                              sourceTensor:
                                                  (MPSGraphTensor*)source
                                               outputShape:
                                                   (MPSShape*)outputShape
                              forwardConvolutionDescriptor:
                                  (MPSGraphConvolution2DOpDescriptor*)descriptor
                                                      name:(NSString*)name;
@end
