// SPDX-License-Identifier: MIT
// Nodes of batch, instance and group normalization and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSCNNNormalizationStates.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

// clang-format off
/// The two nodes of one kind. VARIABLES and properties are those that the
/// forward node of only this kind has.
#define EMULATED_NORMALIZATION_NODES(KIND, VARIABLES, ...) \
  @interface MPSCNN##KIND##NormalizationNode \
      : MPSNNFilterNode <MPSNNTrainableNode> { \
    id<MPSCNN##KIND##NormalizationDataSource> _dataSource; \
    MPSNNTrainingStyle _trainingStyle; \
    VARIABLES \
  } \
  @property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle; \
  __VA_ARGS__ \
  EMULATED_NODE((id<MPSCNN##KIND##NormalizationDataSource>, dataSource)); \
  @end \
  @interface MPSCNN##KIND##NormalizationGradientNode \
      : MPSNNGradientFilterNode <MPSNNTrainableNode> { \
    MPSNNTrainingStyle _trainingStyle; \
  } \
  EMULATED_GRADIENT_NODE(); \
  @end

EMULATED_NORMALIZATION_NODES(
    Batch, MPSCNNBatchNormalizationFlags _flags;,
    @property(readwrite, nonatomic) MPSCNNBatchNormalizationFlags flags;)
EMULATED_NORMALIZATION_NODES(Instance, )
EMULATED_NORMALIZATION_NODES(Group, )
// clang-format on

NS_ASSUME_NONNULL_END
