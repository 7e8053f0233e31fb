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

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                       weights:(id<MPSCNNConvolutionDataSource>)weights;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                       weights:(id<MPSCNNConvolutionDataSource>)weights;
@end

@interface MPSCNNFullyConnectedNode : MPSCNNConvolutionNode
@end

@interface MPSCNNConvolutionTransposeNode : MPSCNNConvolutionNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
      convolutionGradientState:
          (nullable MPSCNNConvolutionGradientStateNode*)convolutionGradientState
                       weights:(id<MPSCNNConvolutionDataSource>)weights;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
      convolutionGradientState:
          (nullable MPSCNNConvolutionGradientStateNode*)convolutionGradientState
                       weights:(id<MPSCNNConvolutionDataSource>)weights;
@end

@interface MPSCNNConvolutionGradientNode
    : MPSNNGradientFilterNode <MPSNNTrainableNode> {
  id<MPSCNNConvolutionDataSource> _weights;
  MPSNNTrainingStyle _trainingStyle;
}
+ (instancetype)
      nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                 sourceImage:(MPSNNImageNode*)sourceImage
    convolutionGradientState:(MPSCNNConvolutionGradientStateNode*)gradientState
                     weights:(nullable id<MPSCNNConvolutionDataSource>)weights;
- (instancetype)
      initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                 sourceImage:(MPSNNImageNode*)sourceImage
    convolutionGradientState:(MPSCNNConvolutionGradientStateNode*)gradientState
                     weights:(nullable id<MPSCNNConvolutionDataSource>)weights;
@end

@interface MPSCNNFullyConnectedGradientNode : MPSCNNConvolutionGradientNode
@end

@interface MPSCNNConvolutionTransposeGradientNode
    : MPSCNNConvolutionGradientNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
     convolutionTransposeGradientState:
         (MPSCNNConvolutionTransposeGradientStateNode*)gradientState
                               weights:
                                   (nullable id<MPSCNNConvolutionDataSource>)
                                       weights;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
     convolutionTransposeGradientState:
         (MPSCNNConvolutionTransposeGradientStateNode*)gradientState
                               weights:
                                   (nullable id<MPSCNNConvolutionDataSource>)
                                       weights;
@end

NS_ASSUME_NONNULL_END
