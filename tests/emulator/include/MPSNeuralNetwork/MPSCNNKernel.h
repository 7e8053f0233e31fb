// SPDX-License-Identifier: MIT

// MPSCNNKernel: what padding policies see of a filter.
#pragma once

#import <MPSNeuralNetwork/MPSNeuralNetworkTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNKernel : MPSKernel {
  MPSOffset _offset;
  MPSImageEdgeMode _edgeMode;
  NSUInteger _kernelWidth, _kernelHeight;
  NSUInteger _strideInPixelsX, _strideInPixelsY;
  NSUInteger _dilationRateX, _dilationRateY;
}
/// Where the centre of the first window lies in the source.
@property(readwrite, nonatomic) MPSOffset offset;
@property(readwrite, nonatomic) MPSImageEdgeMode edgeMode;
@property(readonly, nonatomic) NSUInteger kernelWidth, kernelHeight,
    strideInPixelsX, strideInPixelsY, dilationRateX, dilationRateY;
@end

NS_ASSUME_NONNULL_END
