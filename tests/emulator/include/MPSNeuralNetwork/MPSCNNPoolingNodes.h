// SPDX-License-Identifier: MIT
// Nodes of pooling filters and of their gradients.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

#define EMULATED_POOLING_WINDOW                          \
  (NSUInteger, kernelWidth), (NSUInteger, kernelHeight), \
      (NSUInteger, strideInPixelsX), (NSUInteger, strideInPixelsY)
#define EMULATED_DILATED_WINDOW                         \
  EMULATED_POOLING_WINDOW, (NSUInteger, dilationRateX), \
      (NSUInteger, dilationRateY)

@interface MPSCNNPoolingNode : MPSNNFilterNode {
  NSUInteger _kernelWidth, _kernelHeight, _strideInPixelsX, _strideInPixelsY;
}
@property(readonly, nonatomic) NSUInteger kernelWidth, kernelHeight,
    strideInPixelsX, strideInPixelsY;
/// Windows that touch each other.
EMULATED_NODE((NSUInteger, filterSize));
EMULATED_NODE((NSUInteger, filterSize), (NSUInteger, stride));
- EMULATED_FROM_SOURCE(init, EMULATED_POOLING_WINDOW);
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
@property(nonatomic, readonly) NSUInteger dilationRateX, dilationRateY;
/// Stride and dilation rate are the size too.
EMULATED_NODE((NSUInteger, filterSize));
EMULATED_NODE((NSUInteger, filterSize), (NSUInteger, stride),
              (NSUInteger, dilationRate));
- EMULATED_FROM_SOURCE(init, EMULATED_DILATED_WINDOW);
@end

@interface MPSCNNPoolingGradientNode : MPSNNGradientFilterNode {
  NSUInteger _kernelWidth, _kernelHeight, _strideInPixelsX, _strideInPixelsY;
}
@property(readonly, nonatomic) NSUInteger kernelWidth, kernelHeight,
    strideInPixelsX, strideInPixelsY;
EMULATED_GRADIENT_NODE(EMULATED_POOLING_WINDOW,
                       (nullable id<MPSNNPadding>, paddingPolicy));
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
@property(readonly, nonatomic) NSUInteger dilationRateX, dilationRateY;
EMULATED_GRADIENT_NODE(EMULATED_DILATED_WINDOW);
@end

NS_ASSUME_NONNULL_END
