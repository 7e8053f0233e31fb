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
EMULATED_NODE();
@end

// clang-format off
/// M(axis, operation): those that have nothing more.
#define EMULATED_REDUCTIONS(M) \
  M(Row, Min)  M(Column, Min)  M(FeatureChannels, Min) \
  M(Row, Max)  M(Column, Max)  M(FeatureChannels, Max) \
  M(Row, Mean) M(Column, Mean) M(FeatureChannels, Mean) \
  M(Row, Sum)  M(Column, Sum) \
  M(FeatureChannels, ArgumentMin) M(FeatureChannels, ArgumentMax)

#define EMULATED_REDUCTION_NODE(AXIS, OPERATION) \
  @interface MPSNNReduction##AXIS##OPERATION##Node : MPSNNUnaryReductionNode \
  @end
// clang-format on
EMULATED_REDUCTIONS(EMULATED_REDUCTION_NODE)

@interface MPSNNReductionFeatureChannelsSumNode : MPSNNUnaryReductionNode {
  float _weight;
}
/// A factor of the sum.
@property(readwrite, nonatomic) float weight;
@end

@interface MPSNNReductionSpatialMeanNode : MPSNNUnaryReductionNode
@end
@interface MPSNNReductionSpatialMeanGradientNode : MPSNNGradientFilterNode
EMULATED_GRADIENT_NODE();
@end

NS_ASSUME_NONNULL_END
