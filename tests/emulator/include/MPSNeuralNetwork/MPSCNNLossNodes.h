// SPDX-License-Identifier: MIT
// Nodes of losses: one that is its own gradient, and the separate pair.
#pragma once

#import <MPSNeuralNetwork/MPSCNNLoss.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

/// The result is the gradient of the source, which no reduction divides.
@interface MPSCNNLossNode : MPSNNFilterNode {
  MPSCNNLossDescriptor* _descriptor;
  MPSNNLabelsNode* _inputLabels;
}
@property(readonly, retain, nonatomic) MPSNNLabelsNode* inputLabels;

EMULATED_NODE((MPSCNNLossDescriptor*, lossDescriptor));
@end

@protocol MPSNNLossCallback <NSObject, NSSecureCoding, NSCopying>
- (float)scalarWeightForSourceImage:(MPSImage*)sourceImage
                   destinationImage:(MPSImage*)destinationImage;
@end

@class MPSNNLossGradientNode;

/// What nodes tell of their descriptor.
#define EMULATED_LOSS                                               \
  (MPSCNNLossType, lossType), (MPSCNNReductionType, reductionType), \
      (NSUInteger, numberOfClasses), (BOOL, reduceAcrossBatch),     \
      (float, weight), (float, labelSmoothing), (float, epsilon),   \
      (float, delta)

@interface MPSNNForwardLossNode : MPSNNFilterNode {
  MPSCNNLossDescriptor* _descriptor;
  id<MPSNNLossCallback> _propertyCallBack;
}
EMULATED_EACH(EMULATED_GETTER, EMULATED_LOSS)
@property(nonatomic, nullable, readwrite, retain) id<MPSNNLossCallback>
    propertyCallBack;

+ EMULATED_FROM_SOURCE(node, (MPSNNImageNode*, labels),
                       (MPSNNImageNode*, weights),
                       (MPSCNNLossDescriptor*, lossDescriptor));
- EMULATED_FROM_SOURCE(init, (MPSNNImageNode*, labels),
                       (nullable MPSNNImageNode*, weights),
                       (MPSCNNLossDescriptor*, lossDescriptor));
EMULATED_NODE((MPSNNImageNode*, labels),
              (MPSCNNLossDescriptor*, lossDescriptor));
/// Predictions, labels and perhaps weights.
EMULATED_MADE(Sources, NSArray<MPSNNImageNode*>*, sourceNodes,
              (MPSCNNLossDescriptor*, lossDescriptor));

/// The gradient is that of the predictions; the plural ones have that of the
/// labels as well.
- (MPSNNLossGradientNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)sourceGradient;
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)sourceGradient;
- (MPSNNLossGradientNode*)gradientFilterWithSource:
    (MPSNNImageNode*)sourceGradient;
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSource:
    (MPSNNImageNode*)sourceGradient;
@end

#define EMULATED_LOSS_GRADIENT                       \
  (nullable MPSNNGradientStateNode*, gradientState), \
      (MPSCNNLossDescriptor*, lossDescriptor), (BOOL, isLabelsGradientFilter)

@interface MPSNNLossGradientNode : MPSNNGradientFilterNode {
  MPSCNNLossDescriptor* _descriptor;
  id<MPSNNLossCallback> _propertyCallBack;
  BOOL _isLabelsGradientFilter;
}
EMULATED_EACH(EMULATED_GETTER, EMULATED_LOSS)
@property(readonly, nonatomic) BOOL isLabelsGradientFilter;
@property(nonatomic, nullable, readwrite, retain) id<MPSNNLossCallback>
    propertyCallBack;

+ EMULATED_FROM(node, SourceGradient, MPSNNImageNode*, sourceGradient,
                (MPSNNImageNode*, sourceImage), (MPSNNImageNode*, labels),
                (MPSNNImageNode*, weights), EMULATED_LOSS_GRADIENT);
- EMULATED_FROM(init, SourceGradient, MPSNNImageNode*, sourceGradient,
                (MPSNNImageNode*, sourceImage), (MPSNNImageNode*, labels),
                (nullable MPSNNImageNode*, weights), EMULATED_LOSS_GRADIENT);
EMULATED_MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
              (MPSNNImageNode*, sourceImage), (MPSNNImageNode*, labels),
              EMULATED_LOSS_GRADIENT);
/// Gradient, predictions, labels and perhaps weights.
EMULATED_MADE(Sources, NSArray<MPSNNImageNode*>*, sourceNodes,
              EMULATED_LOSS_GRADIENT);
@end

/// Ones of the source's size.
@interface MPSNNInitialGradientNode : MPSNNFilterNode
EMULATED_NODE();
@end

NS_ASSUME_NONNULL_END
