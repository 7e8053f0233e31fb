// SPDX-License-Identifier: MIT
// Descriptors of convolutions and pooling.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include "descriptor_class.h"

// clang-format off
#define EXPLICIT_PADDING \
  - (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft \
                               paddingRight:(NSUInteger)paddingRight \
                                 paddingTop:(NSUInteger)paddingTop \
                              paddingBottom:(NSUInteger)paddingBottom { \
    EMULATED_EACH(EMULATED_KEEP, EMULATED_SIDES) \
    _paddingStyle = MPSGraphPaddingStyleExplicit; \
  }
// clang-format on

@implementation MPSGraphConvolution2DOpDescriptor
FIELDS(MPSGraphConvolution2DOpDescriptor, EMULATED_CONVOLUTION)
DESCRIPTOR_FROM(MPSGraphConvolution2DOpDescriptor, StrideInX, NSUInteger,
                strideInX, (NSUInteger, strideInY), EMULATED_DILATION,
                (NSUInteger, groups), EMULATED_SIDES,
                EMULATED_STYLE_AND_WEIGHTS)
DESCRIPTOR_FROM(MPSGraphConvolution2DOpDescriptor, StrideInX, NSUInteger,
                strideInX, (NSUInteger, strideInY), EMULATED_DILATION,
                (NSUInteger, groups), EMULATED_STYLE_AND_WEIGHTS)
EXPLICIT_PADDING

- (instancetype)init {
  self = [super init];
  _strideInX = _strideInY = 1;
  _dilationRateInX = _dilationRateInY = 1;
  _groups = 1;
  _weightsLayout = MPSGraphTensorNamedDataLayoutOIHW;
  return self;
}
@end

@implementation MPSGraphDepthwiseConvolution2DOpDescriptor
FIELDS(MPSGraphDepthwiseConvolution2DOpDescriptor,
       EMULATED_DEPTHWISE_CONVOLUTION)
DESCRIPTOR_FROM(MPSGraphDepthwiseConvolution2DOpDescriptor, StrideInX,
                NSUInteger, strideInX, (NSUInteger, strideInY),
                EMULATED_DILATION, EMULATED_SIDES, EMULATED_STYLE_AND_WEIGHTS)
DESCRIPTOR_FROM(MPSGraphDepthwiseConvolution2DOpDescriptor, DataLayout,
                MPSGraphTensorNamedDataLayout, dataLayout,
                (MPSGraphTensorNamedDataLayout, weightsLayout))
EXPLICIT_PADDING

- (instancetype)init {
  self = [super init];
  _strideInX = _strideInY = 1;
  _dilationRateInX = _dilationRateInY = 1;
  _weightsLayout = MPSGraphTensorNamedDataLayoutOIHW;
  return self;
}
@end

@implementation MPSGraphDepthwiseConvolution3DOpDescriptor
FIELDS(MPSGraphDepthwiseConvolution3DOpDescriptor, EMULATED_LISTS_OF_3D,
       EMULATED_NUMBERS_OF_3D)
DESCRIPTOR_FROM(MPSGraphDepthwiseConvolution3DOpDescriptor, Strides,
                NSArray<NSNumber*>*, strides,
                (NSArray<NSNumber*>*, dilationRates),
                (NSArray<NSNumber*>*, paddingValues),
                (MPSGraphPaddingStyle, paddingStyle))
DESCRIPTOR_FROM(MPSGraphDepthwiseConvolution3DOpDescriptor, PaddingStyle,
                MPSGraphPaddingStyle, paddingStyle)

- (instancetype)init {
  self = [super init];
  _strides = [@[ @1, @1, @1 ] copy];
  _dilationRates = [@[ @1, @1, @1 ] copy];
  _paddingValues = [@[ @0, @0, @0, @0, @0, @0 ] copy];
  _channelDimensionIndex = -4;
  return self;
}

- (void)dealloc {
  [_strides release];
  [_dilationRates release];
  [_paddingValues release];
  [super dealloc];
}
@end

@implementation MPSGraphPooling2DOpDescriptor
FIELDS(MPSGraphPooling2DOpDescriptor, EMULATED_POOLING_2D,
       EMULATED_POOLING_RESULT)
DESCRIPTOR_FROM(MPSGraphPooling2DOpDescriptor, KernelWidth, NSUInteger,
                kernelWidth, (NSUInteger, kernelHeight), EMULATED_STRIDES,
                EMULATED_DILATION, EMULATED_SIDES, EMULATED_STYLE)
DESCRIPTOR_FROM(MPSGraphPooling2DOpDescriptor, KernelWidth, NSUInteger,
                kernelWidth, (NSUInteger, kernelHeight), EMULATED_STRIDES,
                EMULATED_STYLE)
EXPLICIT_PADDING

- (instancetype)init {
  self = [super init];
  _kernelWidth = _kernelHeight = 1;
  _strideInX = _strideInY = 1;
  _dilationRateInX = _dilationRateInY = 1;
  _returnIndicesDataType = MPSDataTypeInt32;
  return self;
}
@end

@implementation MPSGraphPooling4DOpDescriptor
FIELDS(MPSGraphPooling4DOpDescriptor, EMULATED_POOLING_4D,
       (MPSGraphPaddingStyle, paddingStyle), EMULATED_POOLING_RESULT)
DESCRIPTOR_FROM(MPSGraphPooling4DOpDescriptor, KernelSizes, NSArray<NSNumber*>*,
                kernelSizes, (NSArray<NSNumber*>*, strides),
                (NSArray<NSNumber*>*, dilationRates),
                (NSArray<NSNumber*>*, paddingValues),
                (MPSGraphPaddingStyle, paddingStyle))
DESCRIPTOR_FROM(MPSGraphPooling4DOpDescriptor, KernelSizes, NSArray<NSNumber*>*,
                kernelSizes, (MPSGraphPaddingStyle, paddingStyle))

- (instancetype)init {
  self = [super init];
  _kernelSizes = [@[ @1, @1, @1, @1 ] copy];
  _strides = [@[ @1, @1, @1, @1 ] copy];
  _dilationRates = [@[ @1, @1, @1, @1 ] copy];
  _paddingValues = [@[ @0, @0, @0, @0, @0, @0, @0, @0 ] copy];
  _returnIndicesDataType = MPSDataTypeInt32;
  return self;
}

- (void)dealloc {
  [_kernelSizes release];
  [_strides release];
  [_dilationRates release];
  [_paddingValues release];
  [super dealloc];
}
@end
