// SPDX-License-Identifier: MIT
// Nodes of upsampling and scaling.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNUpsamplingNearestNode : MPSNNFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX;
@property(nonatomic, readonly) double scaleFactorY;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY;
@end
@interface MPSCNNUpsamplingNearestGradientNode : MPSNNGradientFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX;
@property(nonatomic, readonly) double scaleFactorY;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY;
@end

@interface MPSCNNUpsamplingBilinearNode : MPSNNFilterNode {
  double _scaleFactorX, _scaleFactorY;
  BOOL _alignCorners;
}
@property(nonatomic, readonly) double scaleFactorX;
@property(nonatomic, readonly) double scaleFactorY;
@property(nonatomic, readonly) BOOL alignCorners;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY
                  alignCorners:(BOOL)alignCorners;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY
                  alignCorners:(BOOL)alignCorners;
@end
/// Whether corners are aligned the state says.
@interface MPSCNNUpsamplingBilinearGradientNode : MPSNNGradientFilterNode {
  double _scaleFactorX, _scaleFactorY;
}
@property(nonatomic, readonly) double scaleFactorX;
@property(nonatomic, readonly) double scaleFactorY;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY;
@end

@protocol MPSImageTransformProvider <NSSecureCoding, NSObject>
- (MPSScaleTransform)transformForSourceImage:(MPSImage*)image
                                      handle:(nullable id<MPSHandle>)handle;
@end

@interface MPSNNScaleNode : MPSNNFilterNode {
  MTLSize _size;
  id<MPSImageTransformProvider> _provider;
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    outputSize:(MTLSize)size;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    outputSize:(MTLSize)size;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
             transformProvider:
                 (nullable id<MPSImageTransformProvider>)transformProvider
                    outputSize:(MTLSize)size;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
             transformProvider:
                 (nullable id<MPSImageTransformProvider>)transformProvider
                    outputSize:(MTLSize)size;
@end
@interface MPSNNBilinearScaleNode : MPSNNScaleNode
@end

NS_ASSUME_NONNULL_END
