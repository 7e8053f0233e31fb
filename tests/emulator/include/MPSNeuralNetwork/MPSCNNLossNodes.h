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

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
@end

@protocol MPSNNLossCallback <NSObject, NSSecureCoding, NSCopying>
- (float)scalarWeightForSourceImage:(MPSImage*)sourceImage
                   destinationImage:(MPSImage*)destinationImage;
@end

@class MPSNNLossGradientNode;

@interface MPSNNForwardLossNode : MPSNNFilterNode {
  MPSCNNLossDescriptor* _descriptor;
  id<MPSNNLossCallback> _propertyCallBack;
}
@property(readonly, nonatomic) MPSCNNLossType lossType;
@property(readonly, nonatomic) MPSCNNReductionType reductionType;
@property(readonly, nonatomic) NSUInteger numberOfClasses;
@property(readonly, nonatomic) BOOL reduceAcrossBatch;
@property(readonly, nonatomic) float weight;
@property(readonly, nonatomic) float labelSmoothing;
@property(readonly, nonatomic) float epsilon;
@property(readonly, nonatomic) float delta;
@property(nonatomic, nullable, readwrite, retain) id<MPSNNLossCallback>
    propertyCallBack;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                       weights:(MPSNNImageNode*)weights
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
/// Predictions, labels and perhaps weights.
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                       weights:(nullable MPSNNImageNode*)weights
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor;
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor;

/// Of the predictions; the plural ones have that of the labels as well.
- (MPSNNLossGradientNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)sourceGradient;
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)sourceGradient;
- (MPSNNLossGradientNode*)gradientFilterWithSource:
    (MPSNNImageNode*)sourceGradient;
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSource:
    (MPSNNImageNode*)sourceGradient;
@end

@interface MPSNNLossGradientNode : MPSNNGradientFilterNode {
  MPSCNNLossDescriptor* _descriptor;
  id<MPSNNLossCallback> _propertyCallBack;
  BOOL _isLabelsGradientFilter;
}
@property(readonly, nonatomic) MPSCNNLossType lossType;
@property(readonly, nonatomic) MPSCNNReductionType reductionType;
@property(readonly, nonatomic) NSUInteger numberOfClasses;
@property(readonly, nonatomic) BOOL reduceAcrossBatch;
@property(readonly, nonatomic) float weight;
@property(readonly, nonatomic) float labelSmoothing;
@property(readonly, nonatomic) float epsilon;
@property(readonly, nonatomic) float delta;
@property(readonly, nonatomic) BOOL isLabelsGradientFilter;
@property(nonatomic, nullable, readwrite, retain) id<MPSNNLossCallback>
    propertyCallBack;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                                labels:(MPSNNImageNode*)labels
                               weights:(MPSNNImageNode*)weights
                         gradientState:
                             (nullable MPSNNGradientStateNode*)gradientState
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                                labels:(MPSNNImageNode*)labels
                         gradientState:
                             (nullable MPSNNGradientStateNode*)gradientState
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
/// Gradient, predictions, labels and perhaps weights.
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes
                  gradientState:(nullable MPSNNGradientStateNode*)gradientState
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor
         isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                                labels:(MPSNNImageNode*)labels
                               weights:(nullable MPSNNImageNode*)weights
                         gradientState:
                             (nullable MPSNNGradientStateNode*)gradientState
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                                labels:(MPSNNImageNode*)labels
                         gradientState:
                             (nullable MPSNNGradientStateNode*)gradientState
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes
                  gradientState:(nullable MPSNNGradientStateNode*)gradientState
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor
         isLabelsGradientFilter:(BOOL)isLabelsGradientFilter;
@end

/// Ones of the source's size.
@interface MPSNNInitialGradientNode : MPSNNFilterNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source;
- (instancetype)initWithSource:(MPSNNImageNode*)source;
@end

NS_ASSUME_NONNULL_END
