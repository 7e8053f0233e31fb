// SPDX-License-Identifier: MIT
// Element types, shapes, and what kernels and images share.
#pragma once

#import <Metal/Metal.h>

typedef NS_ENUM(uint32_t, MPSDataType) {
  MPSDataTypeInvalid = 0,
  MPSDataTypeFloatBit = 0x10000000,
  MPSDataTypeComplexBit = 0x01000000,
  MPSDataTypeSignedBit = 0x20000000,
  MPSDataTypeNormalizedBit = 0x40000000,
  MPSDataTypeAlternateEncodingBit = 0x80000000,

  MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
  MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
  MPSDataTypeBFloat16 = MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16,
  MPSDataTypeComplexFloat32 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 64,
  MPSDataTypeComplexFloat16 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 32,
  MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
  MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
  MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
  MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,
  MPSDataTypeUInt8 = 8,
  MPSDataTypeUInt16 = 16,
  MPSDataTypeUInt32 = 32,
  MPSDataTypeUInt64 = 64,
  MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
  MPSDataTypeUnorm1 = MPSDataTypeNormalizedBit | 1,
  MPSDataTypeUnorm8 = MPSDataTypeNormalizedBit | 8,
};

/// Slowest axis first.
typedef NSArray<NSNumber*> MPSShape;

typedef NS_OPTIONS(NSUInteger, MPSKernelOptions) {
  MPSKernelOptionsNone = 0,
  MPSKernelOptionsSkipAPIValidation = 1 << 0,
  MPSKernelOptionsAllowReducedPrecision = 1 << 1,
  MPSKernelOptionsDisableInternalTiling = 1 << 2,
  MPSKernelOptionsInsertDebugGroups = 1 << 3,
  MPSKernelOptionsVerbose = 1 << 4,
};

typedef NS_ENUM(NSUInteger, MPSImageEdgeMode) {
  MPSImageEdgeModeZero = 0,
  MPSImageEdgeModeClamp = 1,
  MPSImageEdgeModeMirror = 2,
  MPSImageEdgeModeMirrorWithEdge = 3,
  MPSImageEdgeModeConstant = 4,
};

typedef NS_ENUM(NSUInteger, MPSImageFeatureChannelFormat) {
  MPSImageFeatureChannelFormatNone = 0,
  MPSImageFeatureChannelFormatUnorm8 = 1,
  MPSImageFeatureChannelFormatUnorm16 = 2,
  MPSImageFeatureChannelFormatFloat16 = 3,
  MPSImageFeatureChannelFormatFloat32 = 4,
};

typedef struct {
  NSInteger x, y, z;
} MPSOffset;

typedef struct MPSScaleTransform {
  double scaleX, scaleY, translateX, translateY;
} MPSScaleTransform;

typedef struct MPSImageCoordinate {
  NSUInteger x, y, channel;
} MPSImageCoordinate;

/// All of an image.
MTL_EXTERN const MTLRegion MPSRectNoClip;
