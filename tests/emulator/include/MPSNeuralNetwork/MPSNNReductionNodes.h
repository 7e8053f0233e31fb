// SPDX-License-Identifier: MIT
// Nodes of reductions within one image.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

/// Rows reduce to a column of their results, columns to a row.
@interface MPSNNUnaryReductionNode : MPSNNFilterNode {
  MTLRegion _clipRectSource;
}
@property(readwrite, nonatomic) MTLRegion clipRectSource;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSNNReductionRowMinNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionColumnMinNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionFeatureChannelsMinNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionRowMaxNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionColumnMaxNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionFeatureChannelsMaxNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionRowMeanNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionColumnMeanNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionFeatureChannelsMeanNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionRowSumNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionColumnSumNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionFeatureChannelsSumNode : MPSNNUnaryReductionNode {
  float _weight;
}
/// A factor of the sum.
@property(readwrite, nonatomic) float weight;
@end
@interface MPSNNReductionFeatureChannelsArgumentMinNode
    : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionFeatureChannelsArgumentMaxNode
    : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionSpatialMeanNode : MPSNNUnaryReductionNode
@end

@interface MPSNNReductionSpatialMeanGradientNode : MPSNNGradientFilterNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

NS_ASSUME_NONNULL_END
