// SPDX-License-Identifier: MIT
// Nodes of upsampling and scaling.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

#define EMULATED_UPSAMPLING_FACTORS \
  (NSUInteger, integerScaleFactorX), (NSUInteger, integerScaleFactorY)

@interface MPSCNNUpsamplingNearestNode : MPSNNFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX, scaleFactorY;
EMULATED_NODE(EMULATED_UPSAMPLING_FACTORS);
@end
@interface MPSCNNUpsamplingNearestGradientNode : MPSNNGradientFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX, scaleFactorY;
EMULATED_GRADIENT_NODE((double, scaleFactorX), (double, scaleFactorY));
@end

@interface MPSCNNUpsamplingBilinearNode : MPSNNFilterNode {
  double _scaleFactorX, _scaleFactorY;
  BOOL _alignCorners;
}
@property(nonatomic, readonly) double scaleFactorX, scaleFactorY;
@property(nonatomic, readonly) BOOL alignCorners;
EMULATED_NODE(EMULATED_UPSAMPLING_FACTORS);
EMULATED_NODE(EMULATED_UPSAMPLING_FACTORS, (BOOL, alignCorners));
@end
/// The state says whether corners are aligned.
@interface MPSCNNUpsamplingBilinearGradientNode : MPSNNGradientFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX, scaleFactorY;
EMULATED_GRADIENT_NODE((double, scaleFactorX), (double, scaleFactorY));
@end

@protocol MPSImageTransformProvider <NSSecureCoding, NSObject>
- (MPSScaleTransform)transformForSourceImage:(MPSImage*)image
                                      handle:(nullable id<MPSHandle>)handle;
@end

@interface MPSNNScaleNode : MPSNNFilterNode {
  MTLSize _size;
  id<MPSImageTransformProvider> _provider;
}
EMULATED_NODE((MTLSize, outputSize));
EMULATED_NODE((nullable id<MPSImageTransformProvider>, transformProvider),
              (MTLSize, outputSize));
@end
@interface MPSNNBilinearScaleNode : MPSNNScaleNode
@end

NS_ASSUME_NONNULL_END
