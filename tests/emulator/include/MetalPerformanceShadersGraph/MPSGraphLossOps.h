// SPDX-License-Identifier: MIT
// Softmax cross entropy and its gradient.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

typedef NS_ENUM(uint64_t, MPSGraphLossReductionType) {
  MPSGraphLossReductionTypeNone = 0,
  MPSGraphLossReductionTypeAxis = MPSGraphLossReductionTypeNone,
  MPSGraphLossReductionTypeSum = 1,
  MPSGraphLossReductionTypeMean = 2,
};

@interface MPSGraph (MPSGraphLossOps)
- (MPSGraphTensor*)
    softMaxCrossEntropyWithSourceTensor:(MPSGraphTensor*)sourceTensor
                           labelsTensor:(MPSGraphTensor*)labelsTensor
                                   axis:(NSInteger)axis
                          reductionType:(MPSGraphLossReductionType)reductionType
                                   name:(NSString*)name;
- (MPSGraphTensor*)
    softMaxCrossEntropyGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)gradientTensor
                                             sourceTensor:
                                                 (MPSGraphTensor*)sourceTensor
                                             labelsTensor:
                                                 (MPSGraphTensor*)labelsTensor
                                                     axis:(NSInteger)axis
                                            reductionType:
                                                (MPSGraphLossReductionType)
                                                    reductionType
                                                     name:(NSString*)name;
@end
