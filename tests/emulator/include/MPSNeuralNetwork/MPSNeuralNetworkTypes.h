// SPDX-License-Identifier: MIT

// Enumerations and padding policies of neural network filters.
#pragma once

#import <MPSCore/MPSCore.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_OPTIONS(NSUInteger, MPSNNConvolutionAccumulatorPrecisionOption) {
  MPSNNConvolutionAccumulatorPrecisionOptionHalf = 0,
  MPSNNConvolutionAccumulatorPrecisionOptionFloat = 1,
};

typedef NS_OPTIONS(NSUInteger, MPSNNTrainingStyle) {
  MPSNNTrainingStyleUpdateDeviceNone = 0,
  MPSNNTrainingStyleUpdateDeviceCPU = 1,
  MPSNNTrainingStyleUpdateDeviceGPU = 2,
};

typedef NS_OPTIONS(NSUInteger, MPSCNNBatchNormalizationFlags) {
  MPSCNNBatchNormalizationFlagsDefault = 0,
  MPSCNNBatchNormalizationFlagsCalculateStatisticsAutomatic = 0,
  MPSCNNBatchNormalizationFlagsCalculateStatisticsAlways = 1,
  MPSCNNBatchNormalizationFlagsCalculateStatisticsNever = 2,
  MPSCNNBatchNormalizationFlagsCalculateStatisticsMask = 3,
};

/// Where the window lies (bits 0 and 1), which side gets an odd pixel (2 and
/// 3), how large the result is (4 and 5), and what else there is.
typedef NS_OPTIONS(NSUInteger, MPSNNPaddingMethod) {
  MPSNNPaddingMethodAlignCentered = 0,
  MPSNNPaddingMethodAlignTopLeft = 1,
  MPSNNPaddingMethodAlignBottomRight = 2,
  MPSNNPaddingMethodAlign_reserved = 3,
  MPSNNPaddingMethodAlignMask = 3,
  MPSNNPaddingMethodAddRemainderToTopLeft = 0 << 2,
  MPSNNPaddingMethodAddRemainderToTopRight = 1 << 2,
  MPSNNPaddingMethodAddRemainderToBottomLeft = 2 << 2,
  MPSNNPaddingMethodAddRemainderToBottomRight = 3 << 2,
  MPSNNPaddingMethodAddRemainderToMask = 3 << 2,
  MPSNNPaddingMethodSizeValidOnly = 0,
  MPSNNPaddingMethodSizeSame = 1 << 4,
  MPSNNPaddingMethodSizeFull = 2 << 4,
  MPSNNPaddingMethodSize_reserved = 3 << 4,
  MPSNNPaddingMethodSizeMask = 0x7f0,
  MPSNNPaddingMethodCustomAllowForNodeFusion = 1 << 13,
  MPSNNPaddingMethodCustom = 1 << 14,
  MPSNNPaddingMethodExcludeEdges = 1 << 15,
};

@protocol MPSNNPadding <NSObject, NSSecureCoding>
- (MPSNNPaddingMethod)paddingMethod;
@optional
- (NSString*)label;
/// Asked when the method has the Custom bit.
- (MPSImageDescriptor*)
    destinationImageDescriptorForSourceImages:(NSArray<MPSImage*>*)sourceImages
                                 sourceStates:
                                     (nullable NSArray<MPSState*>*)sourceStates
                                    forKernel:(MPSKernel*)kernel
                          suggestedDescriptor:(MPSImageDescriptor*)inDescriptor;
- (nullable instancetype)inverse;
@end

@interface MPSNNDefaultPadding : NSObject <MPSNNPadding> {
  MPSNNPaddingMethod _paddingMethod;
  MPSImageEdgeMode _edgeMode;
}
+ (instancetype)paddingWithMethod:(MPSNNPaddingMethod)method;
+ (instancetype)paddingForTensorflowAveragePooling;
+ (instancetype)paddingForTensorflowAveragePoolingValidOnly;
- (NSString*)label;
@end

@protocol MPSImageSizeEncodingState <NSObject>
@property(readonly, nonatomic) NSUInteger sourceWidth, sourceHeight;
@end

NS_ASSUME_NONNULL_END
