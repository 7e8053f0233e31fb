// SPDX-License-Identifier: MIT
// Nodes of softmax, its logarithm, and of their gradients, which read the
// forward result as their source image.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNSoftMaxNode : MPSNNFilterNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end
@interface MPSCNNSoftMaxGradientNode : MPSNNGradientFilterNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@interface MPSCNNLogSoftMaxNode : MPSNNFilterNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end
@interface MPSCNNLogSoftMaxGradientNode : MPSNNGradientFilterNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

NS_ASSUME_NONNULL_END
