// SPDX-License-Identifier: MIT
// Nodes of dropout and of its gradient.
#pragma once

#import <MPSNeuralNetwork/MPSCNNDropout.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

/// A mask stride of zero shares the mask along an axis (the depth is channels);
/// the others are one.
#define EMULATED_DROPOUT \
  (float, keepProbability), (NSUInteger, seed), (MTLSize, maskStrideInPixels)

@interface MPSCNNDropoutNode : MPSNNFilterNode {
  float _keepProbability;
  NSUInteger _seed;
  MTLSize _maskStrideInPixels;
}
EMULATED_EACH(EMULATED_GETTER, EMULATED_DROPOUT)
EMULATED_NODE();
EMULATED_NODE((float, keepProbability));
EMULATED_NODE(EMULATED_DROPOUT);
@end

@interface MPSCNNDropoutGradientNode : MPSNNGradientFilterNode {
  float _keepProbability;
  NSUInteger _seed;
  MTLSize _maskStrideInPixels;
}
EMULATED_EACH(EMULATED_GETTER, EMULATED_DROPOUT)
EMULATED_GRADIENT_NODE(EMULATED_DROPOUT);
@end

NS_ASSUME_NONNULL_END
