// SPDX-License-Identifier: MIT
// Nodes of dropout and of its gradient.
#pragma once

#import <MPSNeuralNetwork/MPSCNNDropout.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNDropoutNode : MPSNNFilterNode {
  float _keepProbability;
  NSUInteger _seed;
  MTLSize _maskStrideInPixels;
}
@property(readonly, nonatomic) float keepProbability;
@property(readonly, nonatomic) NSUInteger seed;
/// Zero shares the mask along an axis (the depth is channels), else one.
@property(readonly, nonatomic) MTLSize maskStrideInPixels;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source;
- (instancetype)initWithSource:(MPSNNImageNode*)source;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
               keepProbability:(float)keepProbability;
- (instancetype)initWithSource:(MPSNNImageNode*)source
               keepProbability:(float)keepProbability;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
               keepProbability:(float)keepProbability
                          seed:(NSUInteger)seed
            maskStrideInPixels:(MTLSize)maskStrideInPixels;
- (instancetype)initWithSource:(MPSNNImageNode*)source
               keepProbability:(float)keepProbability
                          seed:(NSUInteger)seed
            maskStrideInPixels:(MTLSize)maskStrideInPixels;
@end

@interface MPSCNNDropoutGradientNode : MPSNNGradientFilterNode {
  float _keepProbability;
  NSUInteger _seed;
  MTLSize _maskStrideInPixels;
}
@property(readonly, nonatomic) float keepProbability;
@property(readonly, nonatomic) NSUInteger seed;
/// Zero shares the mask along an axis (the depth is channels), else one.
@property(readonly, nonatomic) MTLSize maskStrideInPixels;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                       keepProbability:(float)keepProbability
                                  seed:(NSUInteger)seed
                    maskStrideInPixels:(MTLSize)maskStrideInPixels;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                       keepProbability:(float)keepProbability
                                  seed:(NSUInteger)seed
                    maskStrideInPixels:(MTLSize)maskStrideInPixels;
@end

NS_ASSUME_NONNULL_END
