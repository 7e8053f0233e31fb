// SPDX-License-Identifier: MIT
// Philox random numbers: states and tensors drawn from them.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

typedef NS_ENUM(uint64_t, MPSGraphRandomDistribution) {
  MPSGraphRandomDistributionUniform = 0,
  MPSGraphRandomDistributionNormal = 1,
  MPSGraphRandomDistributionTruncatedNormal = 2,
};

typedef NS_ENUM(uint64_t, MPSGraphRandomNormalSamplingMethod) {
  MPSGraphRandomNormalSamplingInvCDF = 0,
  MPSGraphRandomNormalSamplingBoxMuller = 1,
};

#define EMULATED_RANDOM_FIELDS                                            \
  (MPSGraphRandomDistribution, distribution), (MPSDataType, dataType),    \
      (float, min), (float, max), (NSInteger, minInteger),                \
      (NSInteger, maxInteger), (float, mean), (float, standardDeviation), \
      (MPSGraphRandomNormalSamplingMethod, samplingMethod)

@interface MPSGraphRandomOpDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_RANDOM_FIELDS)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_RANDOM_FIELDS)
+ (instancetype)descriptorWithDistribution:
                    (MPSGraphRandomDistribution)distribution
                                  dataType:(MPSDataType)dataType;
@end

@interface MPSGraph (MPSGraphRandomOps)
- (MPSGraphTensor*)randomPhiloxStateTensorWithSeed:(NSUInteger)seed
                                              name:(NSString*)name;
- (MPSGraphTensor*)randomPhiloxStateTensorWithCounterLow:(NSUInteger)counterLow
                                             counterHigh:(NSUInteger)counterHigh
                                                     key:(NSUInteger)key
                                                    name:(NSString*)name;
- (MPSGraphTensor*)randomTensorWithShape:(MPSShape*)shape
                              descriptor:(MPSGraphRandomOpDescriptor*)descriptor
                                    seed:(NSUInteger)seed
                                    name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    randomTensorWithShape:(MPSShape*)shape
               descriptor:(MPSGraphRandomOpDescriptor*)descriptor
              stateTensor:(MPSGraphTensor*)state
                     name:(NSString*)name;
- (MPSGraphTensor*)randomUniformTensorWithShape:(MPSShape*)shape
                                           seed:(NSUInteger)seed
                                           name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)randomUniformTensorWithShape:(MPSShape*)shape
                                              stateTensor:(MPSGraphTensor*)state
                                                     name:(NSString*)name;
@end
