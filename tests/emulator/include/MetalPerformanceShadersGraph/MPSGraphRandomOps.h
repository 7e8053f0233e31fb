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

@interface MPSGraphRandomOpDescriptor : MPSGraphObject <NSCopying> {
  MPSGraphRandomDistribution _distribution;
  MPSDataType _dataType;
  float _min, _max, _mean, _standardDeviation;
  NSInteger _minInteger, _maxInteger;
  MPSGraphRandomNormalSamplingMethod _samplingMethod;
}
@property(readwrite, nonatomic) MPSGraphRandomDistribution distribution;
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readwrite, nonatomic) float min;
@property(readwrite, nonatomic) float max;
@property(readwrite, nonatomic) NSInteger minInteger;
@property(readwrite, nonatomic) NSInteger maxInteger;
@property(readwrite, nonatomic) float mean;
@property(readwrite, nonatomic) float standardDeviation;
@property(readwrite, nonatomic)
    MPSGraphRandomNormalSamplingMethod samplingMethod;
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
