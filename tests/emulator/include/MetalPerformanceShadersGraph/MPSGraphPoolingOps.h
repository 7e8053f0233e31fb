// SPDX-License-Identifier: MIT
// Maximum, average and L2-norm pooling and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

typedef NS_ENUM(NSUInteger, MPSGraphPoolingReturnIndicesMode) {
  MPSGraphPoolingReturnIndicesNone = 0,
  MPSGraphPoolingReturnIndicesGlobalFlatten1D = 1,
  MPSGraphPoolingReturnIndicesGlobalFlatten2D = 2,
  MPSGraphPoolingReturnIndicesGlobalFlatten3D = 3,
  MPSGraphPoolingReturnIndicesGlobalFlatten4D = 4,
  MPSGraphPoolingReturnIndicesLocalFlatten1D = 5,
  MPSGraphPoolingReturnIndicesLocalFlatten2D = 6,
  MPSGraphPoolingReturnIndicesLocalFlatten3D = 7,
  MPSGraphPoolingReturnIndicesLocalFlatten4D = 8,
};

@interface MPSGraphPooling2DOpDescriptor : MPSGraphObject <NSCopying> {
  NSUInteger _kernelWidth, _kernelHeight, _strideInX, _strideInY,
      _dilationRateInX, _dilationRateInY, _paddingLeft, _paddingRight,
      _paddingTop, _paddingBottom;
  MPSGraphPaddingStyle _paddingStyle;
  MPSGraphTensorNamedDataLayout _dataLayout;
  MPSGraphPoolingReturnIndicesMode _returnIndicesMode;
  MPSDataType _returnIndicesDataType;
  BOOL _ceilMode, _includeZeroPadToAverage;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth;
@property(readwrite, nonatomic) NSUInteger kernelHeight;
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
@property(readwrite, nonatomic)
    MPSGraphPoolingReturnIndicesMode returnIndicesMode;
@property(readwrite, nonatomic) MPSDataType returnIndicesDataType;
@property(readwrite, nonatomic) BOOL ceilMode;
@property(readwrite, nonatomic) BOOL includeZeroPadToAverage;
+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                          dilationRateInX:(NSUInteger)dilationRateInX
                          dilationRateInY:(NSUInteger)dilationRateInY
                              paddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:
                                   (MPSGraphTensorNamedDataLayout)dataLayout;
+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:
                                   (MPSGraphTensorNamedDataLayout)dataLayout;
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

@interface MPSGraphPooling4DOpDescriptor : MPSGraphObject <NSCopying> {
  NSArray<NSNumber*>*_kernelSizes, *_strides, *_dilationRates, *_paddingValues;
  MPSGraphPaddingStyle _paddingStyle;
  MPSGraphPoolingReturnIndicesMode _returnIndicesMode;
  MPSDataType _returnIndicesDataType;
  BOOL _ceilMode, _includeZeroPadToAverage;
}
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* kernelSizes;
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* strides;
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* dilationRates;
@property(readwrite, nonatomic, copy) NSArray<NSNumber*>* paddingValues;
@property(readwrite, nonatomic) MPSGraphPaddingStyle paddingStyle;
@property(readwrite, nonatomic)
    MPSGraphPoolingReturnIndicesMode returnIndicesMode;
@property(readwrite, nonatomic) MPSDataType returnIndicesDataType;
@property(readwrite, nonatomic) BOOL ceilMode;
@property(readwrite, nonatomic) BOOL includeZeroPadToAverage;
+ (instancetype)descriptorWithKernelSizes:(NSArray<NSNumber*>*)kernelSizes
                                  strides:(NSArray<NSNumber*>*)strides
                            dilationRates:(NSArray<NSNumber*>*)dilationRates
                            paddingValues:(NSArray<NSNumber*>*)paddingValues
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle;
+ (instancetype)descriptorWithKernelSizes:(NSArray<NSNumber*>*)kernelSizes
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle;
@end

@interface MPSGraph (MPSGraphPoolingOps)
- (MPSGraphTensor*)
    maxPooling2DWithSourceTensor:(MPSGraphTensor*)source
                      descriptor:(MPSGraphPooling2DOpDescriptor*)descriptor
                            name:(NSString*)name;
- (MPSGraphTensor*)
    maxPooling2DGradientWithGradientTensor:(MPSGraphTensor*)gradient
                              sourceTensor:(MPSGraphTensor*)source
                                descriptor:
                                    (MPSGraphPooling2DOpDescriptor*)descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    avgPooling2DWithSourceTensor:(MPSGraphTensor*)source
                      descriptor:(MPSGraphPooling2DOpDescriptor*)descriptor
                            name:(NSString*)name;
- (MPSGraphTensor*)
    avgPooling2DGradientWithGradientTensor:(MPSGraphTensor*)gradient
                              sourceTensor:(MPSGraphTensor*)source
                                descriptor:
                                    (MPSGraphPooling2DOpDescriptor*)descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    maxPooling4DWithSourceTensor:(MPSGraphTensor*)source
                      descriptor:(MPSGraphPooling4DOpDescriptor*)descriptor
                            name:(NSString*)name;
- (MPSGraphTensor*)
    maxPooling4DGradientWithGradientTensor:(MPSGraphTensor*)gradient
                              sourceTensor:(MPSGraphTensor*)source
                                descriptor:
                                    (MPSGraphPooling4DOpDescriptor*)descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    avgPooling4DWithSourceTensor:(MPSGraphTensor*)source
                      descriptor:(MPSGraphPooling4DOpDescriptor*)descriptor
                            name:(NSString*)name;
- (MPSGraphTensor*)
    avgPooling4DGradientWithGradientTensor:(MPSGraphTensor*)gradient
                              sourceTensor:(MPSGraphTensor*)source
                                descriptor:
                                    (MPSGraphPooling4DOpDescriptor*)descriptor
                                      name:(NSString*)name;
- (MPSGraphTensor*)
    L2NormPooling4DWithSourceTensor:(MPSGraphTensor*)source
                         descriptor:(MPSGraphPooling4DOpDescriptor*)descriptor
                               name:(NSString*)name;
- (MPSGraphTensor*)
    L2NormPooling4DGradientWithGradientTensor:(MPSGraphTensor*)gradient
                                 sourceTensor:(MPSGraphTensor*)source
                                   descriptor:(MPSGraphPooling4DOpDescriptor*)
                                                  descriptor
                                         name:(NSString*)name;
@end
