// SPDX-License-Identifier: MIT
// Nodes of arithmetic on two images and of its gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_OPTIONS(NSUInteger, MPSNNComparisonType) {
  MPSNNComparisonTypeEqual = 0,
  MPSNNComparisonTypeNotEqual = 1,
  MPSNNComparisonTypeLess = 2,
  MPSNNComparisonTypeLessOrEqual = 3,
  MPSNNComparisonTypeGreater = 4,
  MPSNNComparisonTypeGreaterOrEqual = 5,
};

/// clamp((primaryScale * x op secondaryScale * y) + bias). A stride of zero
/// broadcasts a source along an axis; the others are one.
@interface MPSNNBinaryArithmeticNode : MPSNNFilterNode {
  float _primaryScale, _secondaryScale, _bias, _minimumValue, _maximumValue;
  NSUInteger _primaryStrideInPixelsX, _primaryStrideInPixelsY,
      _primaryStrideInFeatureChannels, _secondaryStrideInPixelsX,
      _secondaryStrideInPixelsY, _secondaryStrideInFeatureChannels;
}
@property(readwrite, nonatomic) float primaryScale;
@property(readwrite, nonatomic) float secondaryScale;
@property(readwrite, nonatomic) float bias;
@property(readwrite, nonatomic) NSUInteger primaryStrideInPixelsX;
@property(readwrite, nonatomic) NSUInteger primaryStrideInPixelsY;
@property(readwrite, nonatomic) NSUInteger primaryStrideInFeatureChannels;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInPixelsX;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInPixelsY;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInFeatureChannels;
@property(readwrite, nonatomic) float minimumValue;
@property(readwrite, nonatomic) float maximumValue;

+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes;
+ (instancetype)nodeWithLeftSource:(MPSNNImageNode*)left
                       rightSource:(MPSNNImageNode*)right;
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes;
- (instancetype)initWithLeftSource:(MPSNNImageNode*)left
                       rightSource:(MPSNNImageNode*)right;
- (Class)gradientClass;
/// Of the primary source, then of the secondary one.
- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)gradientImages;
@end

@interface MPSNNAdditionNode : MPSNNBinaryArithmeticNode
@end
@interface MPSNNSubtractionNode : MPSNNBinaryArithmeticNode
@end
@interface MPSNNMultiplicationNode : MPSNNBinaryArithmeticNode
@end
@interface MPSNNDivisionNode : MPSNNBinaryArithmeticNode
@end
@interface MPSNNComparisonNode : MPSNNBinaryArithmeticNode {
  MPSNNComparisonType _comparisonType;
}
@property(readwrite, nonatomic) MPSNNComparisonType comparisonType;
@end

/// The secondary strides are those that the forward filter had for the source
/// whose gradient this is.
@interface MPSNNArithmeticGradientNode : MPSNNGradientFilterNode {
  float _primaryScale, _secondaryScale, _bias, _minimumValue, _maximumValue;
  NSUInteger _secondaryStrideInPixelsX, _secondaryStrideInPixelsY,
      _secondaryStrideInFeatureChannels;
  BOOL _isSecondarySourceFilter;
}
@property(readwrite, nonatomic) float primaryScale;
@property(readwrite, nonatomic) float secondaryScale;
@property(readwrite, nonatomic) float bias;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInPixelsX;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInPixelsY;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInFeatureChannels;
@property(readwrite, nonatomic) float minimumValue;
@property(readwrite, nonatomic) float maximumValue;
@property(readonly, nonatomic) BOOL isSecondarySourceFilter;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:
                             (MPSNNBinaryGradientStateNode*)gradientState
               isSecondarySourceFilter:(BOOL)isSecondarySourceFilter;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:
                             (MPSNNBinaryGradientStateNode*)gradientState
               isSecondarySourceFilter:(BOOL)isSecondarySourceFilter;
- (instancetype)initWithGradientImages:(NSArray<MPSNNImageNode*>*)gradientImages
                         forwardFilter:(MPSNNFilterNode*)filter
               isSecondarySourceFilter:(BOOL)isSecondarySourceFilter;
@end

@interface MPSNNAdditionGradientNode : MPSNNArithmeticGradientNode
@end
@interface MPSNNSubtractionGradientNode : MPSNNArithmeticGradientNode
@end
@interface MPSNNMultiplicationGradientNode : MPSNNArithmeticGradientNode
@end

NS_ASSUME_NONNULL_END
