// SPDX-License-Identifier: MIT
// Nodes that move elements, of the Gram matrix, and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

/// Every source takes a multiple of four channels of the result.
@interface MPSNNConcatenationNode : MPSNNFilterNode
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes;
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes;
@end

/// The channels of one source.
@interface MPSNNConcatenationGradientNode : MPSNNGradientFilterNode {
  NSUInteger _index;
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@interface MPSNNReshapeNode : MPSNNFilterNode {
  NSUInteger _width, _height, _channels;
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                   resultWidth:(NSUInteger)resultWidth
                  resultHeight:(NSUInteger)resultHeight
         resultFeatureChannels:(NSUInteger)resultFeatureChannels;
- (instancetype)initWithSource:(MPSNNImageNode*)source
                   resultWidth:(NSUInteger)resultWidth
                  resultHeight:(NSUInteger)resultHeight
         resultFeatureChannels:(NSUInteger)resultFeatureChannels;
@end
@interface MPSNNReshapeGradientNode : MPSNNGradientFilterNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@interface MPSNNPadNode : MPSNNFilterNode {
  MPSImageCoordinate _before, _after;
  MPSImageEdgeMode _edgeMode;
  float _fillValue;
}
@property(readwrite, nonatomic) float fillValue;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
             paddingSizeBefore:(MPSImageCoordinate)paddingSizeBefore
              paddingSizeAfter:(MPSImageCoordinate)paddingSizeAfter
                      edgeMode:(MPSImageEdgeMode)edgeMode;
- (instancetype)initWithSource:(MPSNNImageNode*)source
             paddingSizeBefore:(MPSImageCoordinate)paddingSizeBefore
              paddingSizeAfter:(MPSImageCoordinate)paddingSizeAfter
                      edgeMode:(MPSImageEdgeMode)edgeMode;
@end
@interface MPSNNPadGradientNode : MPSNNGradientFilterNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
@end

@protocol MPSNNGramMatrixCallback <NSObject, NSSecureCoding, NSCopying>
- (float)alphaForSourceImage:(MPSImage*)sourceImage
            destinationImage:(MPSImage*)destinationImage;
@end

@interface MPSNNGramMatrixCalculationNode : MPSNNFilterNode {
  float _alpha;
  id<MPSNNGramMatrixCallback> _propertyCallBack;
}
@property(readonly, nonatomic) float alpha;
@property(nonatomic, nullable, readwrite, retain) id<MPSNNGramMatrixCallback>
    propertyCallBack;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode alpha:(float)alpha;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode alpha:(float)alpha;
@end
@interface MPSNNGramMatrixCalculationGradientNode : MPSNNGradientFilterNode {
  float _alpha;
}
@property(readonly, nonatomic) float alpha;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                                 alpha:(float)alpha;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                                 alpha:(float)alpha;
@end

NS_ASSUME_NONNULL_END
