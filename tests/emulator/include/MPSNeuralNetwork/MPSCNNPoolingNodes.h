// SPDX-License-Identifier: MIT
// Nodes of pooling filters and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNPoolingNode : MPSNNFilterNode {
  NSUInteger _kernelWidth, _kernelHeight, _strideInPixelsX, _strideInPixelsY;
}
@property(readonly, nonatomic) NSUInteger kernelWidth;
@property(readonly, nonatomic) NSUInteger kernelHeight;
@property(readonly, nonatomic) NSUInteger strideInPixelsX;
@property(readonly, nonatomic) NSUInteger strideInPixelsY;

/// Windows that touch each other.
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                   kernelWidth:(NSUInteger)kernelWidth
                  kernelHeight:(NSUInteger)kernelHeight
               strideInPixelsX:(NSUInteger)strideInPixelsX
               strideInPixelsY:(NSUInteger)strideInPixelsY;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size;
@end

@interface MPSCNNPoolingAverageNode : MPSCNNPoolingNode
@end
@interface MPSCNNPoolingL2NormNode : MPSCNNPoolingNode
@end
@interface MPSCNNPoolingMaxNode : MPSCNNPoolingNode
@end

@interface MPSCNNDilatedPoolingMaxNode : MPSNNFilterNode {
  NSUInteger _kernelWidth, _kernelHeight, _strideInPixelsX, _strideInPixelsY,
      _dilationRateX, _dilationRateY;
}
@property(nonatomic, readonly) NSUInteger dilationRateX;
@property(nonatomic, readonly) NSUInteger dilationRateY;

/// Stride and dilation rate are the size too.
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride
                  dilationRate:(NSUInteger)dilationRate;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                   kernelWidth:(NSUInteger)kernelWidth
                  kernelHeight:(NSUInteger)kernelHeight
               strideInPixelsX:(NSUInteger)strideInPixelsX
               strideInPixelsY:(NSUInteger)strideInPixelsY
                 dilationRateX:(NSUInteger)dilationRateX
                 dilationRateY:(NSUInteger)dilationRateY;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride
                  dilationRate:(NSUInteger)dilationRate;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    filterSize:(NSUInteger)size;
@end

@interface MPSCNNPoolingGradientNode : MPSNNGradientFilterNode {
  NSUInteger _kernelWidth, _kernelHeight, _strideInPixelsX, _strideInPixelsY;
}
@property(readonly, nonatomic) NSUInteger kernelWidth;
@property(readonly, nonatomic) NSUInteger kernelHeight;
@property(readonly, nonatomic) NSUInteger strideInPixelsX;
@property(readonly, nonatomic) NSUInteger strideInPixelsY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         paddingPolicy:(nullable id<MPSNNPadding>)paddingPolicy;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         paddingPolicy:(nullable id<MPSNNPadding>)paddingPolicy;
@end

@interface MPSCNNPoolingMaxGradientNode : MPSCNNPoolingGradientNode
@end
@interface MPSCNNPoolingAverageGradientNode : MPSCNNPoolingGradientNode
@end
@interface MPSCNNPoolingL2NormGradientNode : MPSCNNPoolingGradientNode
@end

@interface MPSCNNDilatedPoolingMaxGradientNode : MPSCNNPoolingGradientNode {
  NSUInteger _dilationRateX, _dilationRateY;
}
@property(readonly, nonatomic) NSUInteger dilationRateX;
@property(readonly, nonatomic) NSUInteger dilationRateY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         dilationRateX:(NSUInteger)dilationRateX
                         dilationRateY:(NSUInteger)dilationRateY;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         dilationRateX:(NSUInteger)dilationRateX
                         dilationRateY:(NSUInteger)dilationRateY;
@end

NS_ASSUME_NONNULL_END
