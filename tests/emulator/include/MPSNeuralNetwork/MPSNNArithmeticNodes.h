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
@property(readwrite, nonatomic) float primaryScale, secondaryScale, bias;
@property(readwrite, nonatomic) NSUInteger primaryStrideInPixelsX,
    primaryStrideInPixelsY, primaryStrideInFeatureChannels,
    secondaryStrideInPixelsX, secondaryStrideInPixelsY,
    secondaryStrideInFeatureChannels;
@property(readwrite, nonatomic) float minimumValue, maximumValue;

EMULATED_MADE(Sources, NSArray<MPSNNImageNode*>*, sourceNodes);
EMULATED_MADE(LeftSource, MPSNNImageNode*, left,
              (MPSNNImageNode*, rightSource));
- (Class)gradientClass;
/// The gradients are of the primary source, then of the secondary one.
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
@property(readwrite, nonatomic) float primaryScale, secondaryScale, bias;
@property(readwrite, nonatomic) NSUInteger secondaryStrideInPixelsX,
    secondaryStrideInPixelsY, secondaryStrideInFeatureChannels;
@property(readwrite, nonatomic) float minimumValue, maximumValue;
@property(readonly, nonatomic) BOOL isSecondarySourceFilter;

EMULATED_MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
              (MPSNNImageNode*, sourceImage),
              (MPSNNBinaryGradientStateNode*, gradientState),
              (BOOL, isSecondarySourceFilter));
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
