// SPDX-License-Identifier: MIT
// Nodes of batch, instance and group normalization and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSCNNNormalizationStates.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNBatchNormalizationNode : MPSNNFilterNode <MPSNNTrainableNode> {
  id<MPSCNNBatchNormalizationDataSource> _dataSource;
  MPSCNNBatchNormalizationFlags _flags;
  MPSNNTrainingStyle _trainingStyle;
}
@property(readwrite, nonatomic) MPSCNNBatchNormalizationFlags flags;
@property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNBatchNormalizationDataSource>)dataSource;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNBatchNormalizationDataSource>)dataSource;
@end

@interface MPSCNNBatchNormalizationGradientNode
    : MPSNNGradientFilterNode <MPSNNTrainableNode> {
  MPSNNTrainingStyle _trainingStyle;
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@interface MPSCNNInstanceNormalizationNode
    : MPSNNFilterNode <MPSNNTrainableNode> {
  id<MPSCNNInstanceNormalizationDataSource> _dataSource;
  MPSNNTrainingStyle _trainingStyle;
}
@property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNInstanceNormalizationDataSource>)dataSource;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNInstanceNormalizationDataSource>)dataSource;
@end

@interface MPSCNNInstanceNormalizationGradientNode
    : MPSNNGradientFilterNode <MPSNNTrainableNode> {
  MPSNNTrainingStyle _trainingStyle;
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@interface MPSCNNGroupNormalizationNode : MPSNNFilterNode <MPSNNTrainableNode> {
  id<MPSCNNGroupNormalizationDataSource> _dataSource;
  MPSNNTrainingStyle _trainingStyle;
}
@property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNGroupNormalizationDataSource>)dataSource;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNGroupNormalizationDataSource>)dataSource;
@end

@interface MPSCNNGroupNormalizationGradientNode
    : MPSNNGradientFilterNode <MPSNNTrainableNode> {
  MPSNNTrainingStyle _trainingStyle;
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

NS_ASSUME_NONNULL_END
