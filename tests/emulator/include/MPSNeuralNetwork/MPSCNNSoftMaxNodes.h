// SPDX-License-Identifier: MIT
// Nodes of softmax, its logarithm, and of their gradients, which read the
// forward result as their source image.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNSoftMaxNode : MPSNNFilterNode
EMULATED_NODE();
@end
@interface MPSCNNSoftMaxGradientNode : MPSNNGradientFilterNode
EMULATED_GRADIENT_NODE();
@end

@interface MPSCNNLogSoftMaxNode : MPSNNFilterNode
EMULATED_NODE();
@end
@interface MPSCNNLogSoftMaxGradientNode : MPSNNGradientFilterNode
EMULATED_GRADIENT_NODE();
@end

NS_ASSUME_NONNULL_END
