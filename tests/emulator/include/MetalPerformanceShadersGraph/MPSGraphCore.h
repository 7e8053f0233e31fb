// SPDX-License-Identifier: MIT
// The base class, types of tensors and the enumerations that ops share.
#pragma once

#import <Foundation/Foundation.h>
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
#import <emulator/parameters.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraphObject : NSObject
@end

@interface MPSGraphType : MPSGraphObject <NSCopying>
@end

@interface MPSGraphShapedType : MPSGraphType {
  MPSShape* _shape;
  MPSDataType _dataType;
}
@property(readwrite, nullable, copy, atomic) MPSShape* shape;
@property(readwrite, atomic) MPSDataType dataType;
- (instancetype)initWithShape:(MPSShape* _Nullable)shape
                     dataType:(MPSDataType)dataType;
- (BOOL)isEqualTo:(MPSGraphShapedType* _Nullable)object;
@end

typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
  MPSGraphTensorNamedDataLayoutNCHW = 0,
  MPSGraphTensorNamedDataLayoutNHWC = 1,
  MPSGraphTensorNamedDataLayoutOIHW = 2,
  MPSGraphTensorNamedDataLayoutHWIO = 3,
  MPSGraphTensorNamedDataLayoutCHW = 4,
  MPSGraphTensorNamedDataLayoutHWC = 5,
  MPSGraphTensorNamedDataLayoutHW = 6,
  MPSGraphTensorNamedDataLayoutNCDHW = 7,
  MPSGraphTensorNamedDataLayoutNDHWC = 8,
  MPSGraphTensorNamedDataLayoutOIDHW = 9,
  MPSGraphTensorNamedDataLayoutDHWIO = 10,
};

typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) {
  MPSGraphPaddingStyleExplicit = 0,
  MPSGraphPaddingStyleTF_VALID = 1,
  MPSGraphPaddingStyleTF_SAME = 2,
  MPSGraphPaddingStyleExplicitOffset = 3,
  MPSGraphPaddingStyleONNX_SAME_LOWER = 4,
};

/// Fields that descriptors of windows have in common.
#define EMULATED_STRIDES (NSUInteger, strideInX), (NSUInteger, strideInY)
#define EMULATED_DILATION \
  (NSUInteger, dilationRateInX), (NSUInteger, dilationRateInY)
#define EMULATED_SIDES                                   \
  (NSUInteger, paddingLeft), (NSUInteger, paddingRight), \
      (NSUInteger, paddingTop), (NSUInteger, paddingBottom)
#define EMULATED_STYLE                  \
  (MPSGraphPaddingStyle, paddingStyle), \
      (MPSGraphTensorNamedDataLayout, dataLayout)
#define EMULATED_STYLE_AND_WEIGHTS \
  EMULATED_STYLE, (MPSGraphTensorNamedDataLayout, weightsLayout)

typedef NS_ENUM(NSInteger, MPSGraphPaddingMode) {
  MPSGraphPaddingModeConstant = 0,
  MPSGraphPaddingModeReflect = 1,
  MPSGraphPaddingModeSymmetric = 2,
  MPSGraphPaddingModeClampToEdge = 3,
  MPSGraphPaddingModeZero = 4,
  MPSGraphPaddingModePeriodic = 5,
  MPSGraphPaddingModeAntiPeriodic = 6,
};

typedef NS_ENUM(NSUInteger, MPSGraphReductionMode) {
  MPSGraphReductionModeMin = 0,
  MPSGraphReductionModeMax = 1,
  MPSGraphReductionModeSum = 2,
  MPSGraphReductionModeProduct = 3,
  MPSGraphReductionModeArgumentMin = 4,
  MPSGraphReductionModeArgumentMax = 5,
};

NS_ASSUME_NONNULL_END
