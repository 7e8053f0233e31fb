// SPDX-License-Identifier: MIT
// States and kernels that data sources of normalizations see.
#import "convolution_states.h"
#import "normalization_weights.h"
#import "states.h"

using emulator::refuse;
using emulator::mpsnn::NormalizationState;

namespace emulator::mpsnn {

void NormalizationState::poison() {
  for (auto* one :
       {&gamma, &beta, &mean, &variance, &gamma_gradient, &beta_gradient}) {
    if (one->get()) poison_buffer(one->get());
  }
}

void NormalizationState::synchronize() {
  for (auto* one :
       {&gamma, &beta, &mean, &variance, &gamma_gradient, &beta_gradient}) {
    if (one->get()) synchronize_to_host(one->get());
  }
}

namespace {

NormalizationState& state_of(MPSState* state) {
  return static_cast<NormalizationState&>(*[state filterState]);
}

NSArray* temporary_pair(id<MTLCommandBuffer> buffer, NSUInteger channels) {
  if (!buffer || channels == 0) {
    refuse("temporaryStateWithCommandBuffer", @"no buffer or no channels");
  }
  id<MTLBuffer> first = make_state_buffer([buffer device], channels, true);
  id<MTLBuffer> second = make_state_buffer([buffer device], channels, true);
  return [NSArray arrayWithObjects:first, second, nil];
}

NSArray* pair_of(id<MTLBuffer> first, id<MTLBuffer> second) {
  if (!first || !second) refuse("normalization state", @"a buffer is nil");
  return [NSArray arrayWithObjects:first, second, nil];
}

}  // namespace
}  // namespace emulator::mpsnn

using emulator::mpsnn::pair_of;
using emulator::mpsnn::state_of;
using emulator::mpsnn::temporary_pair;

@implementation MPSCNNNormalizationGammaAndBetaState
+ (instancetype)temporaryStateWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                        numberOfFeatureChannels:(NSUInteger)channels {
  return [[[self alloc] initWithResources:temporary_pair(buffer, channels)
                            commandBuffer:buffer] autorelease];
}
- (instancetype)initWithGamma:(id<MTLBuffer>)gamma beta:(id<MTLBuffer>)beta {
  return [self initWithResources:pair_of(gamma, beta) commandBuffer:nil];
}
- (id<MTLBuffer>)gamma {
  return (id<MTLBuffer>)[self resourceAtIndex:0 allocateMemory:YES];
}
- (id<MTLBuffer>)beta {
  return (id<MTLBuffer>)[self resourceAtIndex:1 allocateMemory:YES];
}
@end

@implementation MPSCNNNormalizationMeanAndVarianceState
+ (instancetype)temporaryStateWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                        numberOfFeatureChannels:(NSUInteger)channels {
  return [[[self alloc] initWithResources:temporary_pair(buffer, channels)
                            commandBuffer:buffer] autorelease];
}
- (instancetype)initWithMean:(id<MTLBuffer>)mean
                    variance:(id<MTLBuffer>)variance {
  return [self initWithResources:pair_of(mean, variance) commandBuffer:nil];
}
- (id<MTLBuffer>)mean {
  return (id<MTLBuffer>)[self resourceAtIndex:0 allocateMemory:YES];
}
- (id<MTLBuffer>)variance {
  return (id<MTLBuffer>)[self resourceAtIndex:1 allocateMemory:YES];
}
@end

@implementation MPSCNNBatchNormalizationState
- (MPSCNNBatchNormalization*)batchNormalization {
  return state_of(self).kernel.get();
}
/// Statistics and gradients belong to one encoding: there is nothing to keep.
- (void)reset {
}
- (id<MTLBuffer>)gamma {
  return state_of(self).gamma.get();
}
- (id<MTLBuffer>)beta {
  return state_of(self).beta.get();
}
- (id<MTLBuffer>)mean {
  return state_of(self).mean.get();
}
- (id<MTLBuffer>)variance {
  return state_of(self).variance.get();
}
- (id<MTLBuffer>)gradientForGamma {
  return state_of(self).gamma_gradient.get();
}
- (id<MTLBuffer>)gradientForBeta {
  return state_of(self).beta_gradient.get();
}
@end

@implementation MPSCNNInstanceNormalizationGradientState
- (MPSCNNInstanceNormalization*)instanceNormalization {
  return state_of(self).kernel.get();
}
- (id<MTLBuffer>)gamma {
  return state_of(self).gamma.get();
}
- (id<MTLBuffer>)beta {
  return state_of(self).beta.get();
}
- (id<MTLBuffer>)gradientForGamma {
  return state_of(self).gamma_gradient.get();
}
- (id<MTLBuffer>)gradientForBeta {
  return state_of(self).beta_gradient.get();
}
@end

@implementation MPSCNNGroupNormalizationGradientState
- (MPSCNNGroupNormalization*)groupNormalization {
  return state_of(self).kernel.get();
}
- (id<MTLBuffer>)gamma {
  return state_of(self).gamma.get();
}
- (id<MTLBuffer>)beta {
  return state_of(self).beta.get();
}
- (id<MTLBuffer>)gradientForGamma {
  return state_of(self).gamma_gradient.get();
}
- (id<MTLBuffer>)gradientForBeta {
  return state_of(self).beta_gradient.get();
}
@end

@implementation MPSCNNBatchNormalization
@synthesize dataSource = _dataSource;
- (instancetype)initWithDevice:(id<MTLDevice>)device dataSource:(id)source {
  self = [super initWithDevice:device];
  _dataSource = [source retain];
  return self;
}
- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}
@end

@implementation MPSCNNInstanceNormalization
@synthesize dataSource = _dataSource;
- (instancetype)initWithDevice:(id<MTLDevice>)device dataSource:(id)source {
  self = [super initWithDevice:device];
  _dataSource = [source retain];
  return self;
}
- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}
@end

@implementation MPSCNNGroupNormalization
@synthesize dataSource = _dataSource;
- (instancetype)initWithDevice:(id<MTLDevice>)device dataSource:(id)source {
  self = [super initWithDevice:device];
  _dataSource = [source retain];
  return self;
}
- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}
@end
