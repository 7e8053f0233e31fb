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

#define EMULATED_POOLING_2D                                                \
  (NSUInteger, kernelWidth), (NSUInteger, kernelHeight), EMULATED_STRIDES, \
      EMULATED_DILATION, EMULATED_SIDES, EMULATED_STYLE
/// 2-D and 4-D pooling share these.
#define EMULATED_POOLING_RESULT                               \
  (MPSGraphPoolingReturnIndicesMode, returnIndicesMode),      \
      (MPSDataType, returnIndicesDataType), (BOOL, ceilMode), \
      (BOOL, includeZeroPadToAverage)

@interface MPSGraphPooling2DOpDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_POOLING_2D, EMULATED_POOLING_RESULT)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_POOLING_2D, EMULATED_POOLING_RESULT)
+ EMULATED_FROM(descriptor, KernelWidth, NSUInteger, kernelWidth,
                (NSUInteger, kernelHeight), EMULATED_STRIDES, EMULATED_DILATION,
                EMULATED_SIDES, EMULATED_STYLE);
+ EMULATED_FROM(descriptor, KernelWidth, NSUInteger, kernelWidth,
                (NSUInteger, kernelHeight), EMULATED_STRIDES, EMULATED_STYLE);
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

#define EMULATED_POOLING_4D                                           \
  (NSArray<NSNumber*>*, kernelSizes), (NSArray<NSNumber*>*, strides), \
      (NSArray<NSNumber*>*, dilationRates),                           \
      (NSArray<NSNumber*>*, paddingValues)

@interface MPSGraphPooling4DOpDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_POOLING_4D,
                (MPSGraphPaddingStyle, paddingStyle), EMULATED_POOLING_RESULT)
}
EMULATED_EACH(EMULATED_COPIED, EMULATED_POOLING_4D)
EMULATED_EACH(EMULATED_PROPERTY, (MPSGraphPaddingStyle, paddingStyle),
              EMULATED_POOLING_RESULT)
+ EMULATED_FROM(descriptor, KernelSizes, NSArray<NSNumber*>*, kernelSizes,
                (NSArray<NSNumber*>*, strides),
                (NSArray<NSNumber*>*, dilationRates),
                (NSArray<NSNumber*>*, paddingValues),
                (MPSGraphPaddingStyle, paddingStyle));
+ EMULATED_FROM(descriptor, KernelSizes, NSArray<NSNumber*>*, kernelSizes,
                (MPSGraphPaddingStyle, paddingStyle));
@end

// clang-format off
#define EMULATED_POOLING(OP, DESCRIPTOR) \
  (MPSGraphTensor*)OP##WithSourceTensor:(MPSGraphTensor*)source \
                            descriptor:(DESCRIPTOR*)descriptor \
                                  name:(NSString*)name
#define EMULATED_POOLING_GRADIENT(OP, DESCRIPTOR) \
  (MPSGraphTensor*)OP##GradientWithGradientTensor:(MPSGraphTensor*)gradient \
                                    sourceTensor:(MPSGraphTensor*)source \
                                      descriptor:(DESCRIPTOR*)descriptor \
                                            name:(NSString*)name
#define EMULATED_POOLING_PAIR(OP, DESCRIPTOR) \
  - EMULATED_POOLING(OP, DESCRIPTOR); \
  - EMULATED_POOLING_GRADIENT(OP, DESCRIPTOR);
// clang-format on

@interface MPSGraph (MPSGraphPoolingOps)
EMULATED_POOLING_PAIR(maxPooling2D, MPSGraphPooling2DOpDescriptor)
EMULATED_POOLING_PAIR(avgPooling2D, MPSGraphPooling2DOpDescriptor)
EMULATED_POOLING_PAIR(maxPooling4D, MPSGraphPooling4DOpDescriptor)
EMULATED_POOLING_PAIR(avgPooling4D, MPSGraphPooling4DOpDescriptor)
EMULATED_POOLING_PAIR(L2NormPooling4D, MPSGraphPooling4DOpDescriptor)
@end
