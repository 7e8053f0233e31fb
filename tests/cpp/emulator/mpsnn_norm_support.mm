// SPDX-License-Identifier: MIT
#import "mpsnn_norm_support.h"

#include <algorithm>

#import "objects.h"
#import "retained.h"

@implementation TestNormalization
@synthesize numberOfGroups = _numberOfGroups;

- (void)dealloc {
  delete _gamma;
  delete _beta;
  delete _mean;
  delete _variance;
  [super dealloc];
}
- (NSUInteger)numberOfFeatureChannels {
  return 4;
}
- (float*)gamma {
  EXPECT_GT(_loadCount, _purgeCount);
  return _gamma->data();
}
- (float*)beta {
  EXPECT_GT(_loadCount, _purgeCount);
  return _beta->data();
}
- (float*)mean {
  EXPECT_GT(_loadCount, _purgeCount);
  return _mean->data();
}
- (float*)variance {
  EXPECT_GT(_loadCount, _purgeCount);
  return _variance->data();
}
- (float)epsilon {
  return _epsilon;
}
- (BOOL)load {
  if (!_refusesToLoad) ++_loadCount;
  return !_refusesToLoad;
}
- (void)purge {
  ++_purgeCount;
}
- (NSString*)label {
  return @"test";
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}
@end

@implementation TestGpuNormalization
- (void)fill:(id<MTLBuffer>)buffer
          on:(id<MTLCommandBuffer>)commands
        with:(float)value {
  emulator::Retained<id<MTLBuffer>> kept(buffer);
  emulator::record("test", commands, [kept, value] {
    auto* floats = reinterpret_cast<float*>(emulator::device_bytes(kept.get()));
    std::fill(floats, floats + 4, value);
    return 0;
  });
}

- (MPSCNNNormalizationGammaAndBetaState*)freshOn:(id<MTLCommandBuffer>)buffer
                                          states:(NSArray*)states {
  ++_updateCount;
  MPSCNNNormalizationGammaAndBetaState* fresh =
      [MPSCNNNormalizationGammaAndBetaState
          temporaryStateWithCommandBuffer:buffer
                  numberOfFeatureChannels:4];
  [self fill:[fresh gamma] on:buffer with:2];
  [self fill:[fresh beta] on:buffer with:3];
  if (!_keepsReadCount) MPSStateBatchIncrementReadCount(states, -1);
  return fresh;
}

- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                batchNormalizationState:(MPSCNNBatchNormalizationState*)state {
  return [self freshOn:buffer states:[NSArray arrayWithObject:state]];
}

- (MPSCNNNormalizationMeanAndVarianceState*)
    updateMeanAndVarianceWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                   batchNormalizationState:
                       (MPSCNNBatchNormalizationState*)state {
  (void)buffer;
  ++_updateCount;
  if (!_keepsReadCount) [state setReadCount:[state readCount] - 1];
  return nil;
}

- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
        instanceNormalizationStateBatch:
            (MPSCNNInstanceNormalizationGradientStateBatch*)states {
  return [self freshOn:buffer states:states];
}

- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
           groupNormalizationStateBatch:
               (MPSCNNGroupNormalizationGradientStateBatch*)states {
  return [self freshOn:buffer states:states];
}
@end

@implementation TestCpuNormalization
- (void)copy:(id<MTLBuffer>)buffer to:(std::vector<float>*)values {
  const auto* floats = static_cast<const float*>([buffer contents]);
  values->assign(floats, floats + 4);
}

- (BOOL)updateGammaAndBetaWithBatchNormalizationState:
    (MPSCNNBatchNormalizationState*)state {
  ++_updateCount;
  [self copy:[state gradientForBeta] to:_beta];
  return YES;
}

- (BOOL)updateMeanAndVarianceWithBatchNormalizationState:
    (MPSCNNBatchNormalizationState*)state {
  ++_updateCount;
  [self copy:[state mean] to:_mean];
  [self copy:[state variance] to:_variance];
  return YES;
}
@end

@implementation TestPlainNormalization
- (NSUInteger)numberOfFeatureChannels {
  return 1;
}
- (float*)gamma {
  return nullptr;
}
- (float*)beta {
  return nullptr;
}
- (NSString*)label {
  return @"plain";
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}
@end
