// SPDX-License-Identifier: MIT
// Nodes of normalization by a neighbourhood, and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNNormalizationNode : MPSNNFilterNode {
  float _alpha, _beta, _delta;
}
@property(readwrite, nonatomic) float alpha;
@property(readwrite, nonatomic) float beta;
@property(readwrite, nonatomic) float delta;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSCNNSpatialNormalizationNode : MPSCNNNormalizationNode {
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth;
@property(readwrite, nonatomic) NSUInteger kernelHeight;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end
@interface MPSCNNSpatialNormalizationGradientNode : MPSNNGradientFilterNode {
  float _alpha, _beta, _delta;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth;
@property(readwrite, nonatomic) NSUInteger kernelHeight;
@property(readwrite, nonatomic) float alpha;
@property(readwrite, nonatomic) float beta;
@property(readwrite, nonatomic) float delta;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize;
@end

@interface MPSCNNLocalContrastNormalizationNode : MPSCNNNormalizationNode {
  float _pm, _ps, _p0;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) float pm;
@property(readwrite, nonatomic) float ps;
@property(readwrite, nonatomic) float p0;
@property(readwrite, nonatomic) NSUInteger kernelWidth;
@property(readwrite, nonatomic) NSUInteger kernelHeight;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end
/// Unlike that of the forward node its own alpha is 0 until it is set.
@interface MPSCNNLocalContrastNormalizationGradientNode
    : MPSNNGradientFilterNode {
  float _alpha, _beta, _delta, _pm, _ps, _p0;
  NSUInteger _kernelWidth, _kernelHeight;
}
@property(readwrite, nonatomic) float alpha;
@property(readwrite, nonatomic) float beta;
@property(readwrite, nonatomic) float delta;
@property(readwrite, nonatomic) float pm;
@property(readwrite, nonatomic) float ps;
@property(readwrite, nonatomic) float p0;
@property(readonly, nonatomic) NSUInteger kernelWidth;
@property(readonly, nonatomic) NSUInteger kernelHeight;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight;
@end

@interface MPSCNNCrossChannelNormalizationNode : MPSCNNNormalizationNode {
  NSUInteger _kernelSizeInFeatureChannels;
}
@property(readwrite, nonatomic) NSUInteger kernelSizeInFeatureChannels;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end
/// Everything but the size comes with the state.
@interface MPSCNNCrossChannelNormalizationGradientNode
    : MPSNNGradientFilterNode {
  NSUInteger _kernelSize;
}
@property(readonly, nonatomic) NSUInteger kernelSize;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize;
@end

NS_ASSUME_NONNULL_END
