// SPDX-License-Identifier: MIT
// Nodes that move elements, of the Gram matrix, and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

/// Every source takes a multiple of four channels of the result.
@interface MPSNNConcatenationNode : MPSNNFilterNode
EMULATED_MADE(Sources, NSArray<MPSNNImageNode*>*, sourceNodes);
@end
/// The channels of one source.
@interface MPSNNConcatenationGradientNode : MPSNNGradientFilterNode {
  NSUInteger _index;
}
EMULATED_GRADIENT_NODE();
@end

@interface MPSNNReshapeNode : MPSNNFilterNode {
  NSUInteger _resultWidth, _resultHeight, _resultFeatureChannels;
}
EMULATED_NODE((NSUInteger, resultWidth), (NSUInteger, resultHeight),
              (NSUInteger, resultFeatureChannels));
@end
@interface MPSNNReshapeGradientNode : MPSNNGradientFilterNode
EMULATED_GRADIENT_NODE();
@end

@interface MPSNNPadNode : MPSNNFilterNode {
  MPSImageCoordinate _paddingSizeBefore, _paddingSizeAfter;
  MPSImageEdgeMode _edgeMode;
  float _fillValue;
}
@property(readwrite, nonatomic) float fillValue;
EMULATED_NODE((MPSImageCoordinate, paddingSizeBefore),
              (MPSImageCoordinate, paddingSizeAfter),
              (MPSImageEdgeMode, edgeMode));
@end
@interface MPSNNPadGradientNode : MPSNNGradientFilterNode
EMULATED_GRADIENT_NODE();
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
EMULATED_NODE();
EMULATED_NODE((float, alpha));
@end
@interface MPSNNGramMatrixCalculationGradientNode : MPSNNGradientFilterNode {
  float _alpha;
}
@property(readonly, nonatomic) float alpha;
EMULATED_GRADIENT_NODE();
EMULATED_GRADIENT_NODE((float, alpha));
@end

NS_ASSUME_NONNULL_END
