// SPDX-License-Identifier: MIT
// Reductions, which keep the reduced axes with length 1.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

// One row per operation; nil axes mean all of them.
#define EMULATED_REDUCTION(Op)                                               \
  -(MPSGraphTensor*)reduction##Op##WithTensor : (MPSGraphTensor*)tensor axis \
      : (NSInteger)axis name : (NSString*)name;                              \
  -(MPSGraphTensor*)reduction##Op##WithTensor : (MPSGraphTensor*)tensor axes \
      : (NSArray<NSNumber*>*)axes name : (NSString*)name;

@interface MPSGraph (MPSGraphReductionOps)
// clang-format off
EMULATED_REDUCTION(Sum)
EMULATED_REDUCTION(Maximum)
EMULATED_REDUCTION(Minimum)
EMULATED_REDUCTION(MaximumPropagateNaN)
EMULATED_REDUCTION(MinimumPropagateNaN)
EMULATED_REDUCTION(Product)
EMULATED_REDUCTION(And)
EMULATED_REDUCTION(Or)
// clang-format on
- (MPSGraphTensor*)reductionArgMaximumWithTensor:(MPSGraphTensor*)tensor
                                            axis:(NSInteger)axis
                                            name:(NSString*)name;
- (MPSGraphTensor*)reductionArgMinimumWithTensor:(MPSGraphTensor*)tensor
                                            axis:(NSInteger)axis
                                            name:(NSString*)name;
@end

#undef EMULATED_REDUCTION
