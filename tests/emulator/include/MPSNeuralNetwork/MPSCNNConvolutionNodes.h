// SPDX-License-Identifier: MIT
// Nodes of convolutions and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSCNNConvolution.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNConvolutionNode : MPSNNFilterNode <MPSNNTrainableNode> {
  id<MPSCNNConvolutionDataSource> _weights;
  MPSNNTrainingStyle _trainingStyle;
  MPSNNConvolutionAccumulatorPrecisionOption _accumulatorPrecision;
}
@property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle;
@property(readwrite, nonatomic)
    MPSNNConvolutionAccumulatorPrecisionOption accumulatorPrecision;
@property(nonatomic, readonly, nullable)
    MPSCNNConvolutionGradientStateNode* convolutionGradientState;

EMULATED_NODE((id<MPSCNNConvolutionDataSource>, weights));
@end

@interface MPSCNNFullyConnectedNode : MPSCNNConvolutionNode
@end

@interface MPSCNNConvolutionTransposeNode : MPSCNNConvolutionNode
EMULATED_NODE((nullable MPSCNNConvolutionGradientStateNode*,
               convolutionGradientState),
              (id<MPSCNNConvolutionDataSource>, weights));
@end

@interface MPSCNNConvolutionGradientNode
    : MPSNNGradientFilterNode <MPSNNTrainableNode> {
  id<MPSCNNConvolutionDataSource> _weights;
  MPSNNTrainingStyle _trainingStyle;
}
EMULATED_MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
              (MPSNNImageNode*, sourceImage),
              (MPSCNNConvolutionGradientStateNode*, convolutionGradientState),
              (nullable id<MPSCNNConvolutionDataSource>, weights));
@end

@interface MPSCNNFullyConnectedGradientNode : MPSCNNConvolutionGradientNode
@end

@interface MPSCNNConvolutionTransposeGradientNode
    : MPSCNNConvolutionGradientNode
EMULATED_MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
              (MPSNNImageNode*, sourceImage),
              (MPSCNNConvolutionTransposeGradientStateNode*,
               convolutionTransposeGradientState),
              (nullable id<MPSCNNConvolutionDataSource>, weights));
@end

NS_ASSUME_NONNULL_END
