// SPDX-License-Identifier: MIT
// Nodes of normalization by a neighbourhood, and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNNormalizationNode : MPSNNFilterNode {
  float _alpha, _beta, _delta;
}
@property(readwrite, nonatomic) float alpha, beta, delta;
EMULATED_NODE();
@end

@interface MPSCNNSpatialNormalizationNode : MPSCNNNormalizationNode {
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth, kernelHeight;
EMULATED_NODE((NSUInteger, kernelSize));
- EMULATED_FROM_SOURCE(init);
@end
@interface MPSCNNSpatialNormalizationGradientNode : MPSNNGradientFilterNode {
  float _alpha, _beta, _delta;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth, kernelHeight;
@property(readwrite, nonatomic) float alpha, beta, delta;
EMULATED_GRADIENT_NODE((NSUInteger, kernelSize));
@end

@interface MPSCNNLocalContrastNormalizationNode : MPSCNNNormalizationNode {
  float _pm, _ps, _p0;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) float pm, ps, p0;
@property(readwrite, nonatomic) NSUInteger kernelWidth, kernelHeight;
EMULATED_NODE((NSUInteger, kernelSize));
- EMULATED_FROM_SOURCE(init);
@end
/// Unlike that of the forward node its own alpha is 0 until it is set.
@interface MPSCNNLocalContrastNormalizationGradientNode
    : MPSNNGradientFilterNode {
  float _alpha, _beta, _delta, _pm, _ps, _p0;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) float alpha, beta, delta, pm, ps, p0;
@property(readonly, nonatomic) NSUInteger kernelWidth, kernelHeight;
EMULATED_GRADIENT_NODE((NSUInteger, kernelWidth), (NSUInteger, kernelHeight));
@end

@interface MPSCNNCrossChannelNormalizationNode : MPSCNNNormalizationNode {
  NSUInteger _kernelSizeInFeatureChannels;
}
@property(readwrite, nonatomic) NSUInteger kernelSizeInFeatureChannels;
EMULATED_NODE((NSUInteger, kernelSize));
- EMULATED_FROM_SOURCE(init);
@end
/// Everything but the size comes with the state.
@interface MPSCNNCrossChannelNormalizationGradientNode
    : MPSNNGradientFilterNode {
  NSUInteger _kernelSize;
}
@property(readonly, nonatomic) NSUInteger kernelSize;
EMULATED_GRADIENT_NODE((NSUInteger, kernelSize));
@end

NS_ASSUME_NONNULL_END
