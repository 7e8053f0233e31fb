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

// clang-format off
/// A state of two buffers.
#define PAIR_STATE(CLASS, FIRST_KEYWORD, FIRST, SECOND) \
  @implementation CLASS \
  + (instancetype)temporaryStateWithCommandBuffer:(id<MTLCommandBuffer>)buffer \
                          numberOfFeatureChannels:(NSUInteger)channels { \
    return [[[self alloc] initWithResources:temporary_pair(buffer, channels) \
                              commandBuffer:buffer] autorelease]; \
  } \
  - (instancetype)initWith##FIRST_KEYWORD:(id<MTLBuffer>)FIRST \
                                   SECOND:(id<MTLBuffer>)SECOND { \
    return [self initWithResources:pair_of(FIRST, SECOND) commandBuffer:nil]; \
  } \
  - (id<MTLBuffer>)FIRST { \
    return (id<MTLBuffer>)[self resourceAtIndex:0 allocateMemory:YES]; \
  } \
  - (id<MTLBuffer>)SECOND { \
    return (id<MTLBuffer>)[self resourceAtIndex:1 allocateMemory:YES]; \
  } \
  @end
PAIR_STATE(MPSCNNNormalizationGammaAndBetaState, Gamma, gamma, beta)
PAIR_STATE(MPSCNNNormalizationMeanAndVarianceState, Mean, mean, variance)

#define STATE_MEMBER(TYPE, NAME, MEMBER) \
  - (TYPE)NAME { return state_of(self).MEMBER.get(); }
/// The kernel of one kind and the state of its encodings.
#define NORMALIZATION_STATE(CLASS, KERNEL, NAME, ...) \
  @implementation KERNEL \
  @synthesize dataSource = _dataSource; \
  - (instancetype)initWithDevice:(id<MTLDevice>)device dataSource:(id)source { \
    self = [super initWithDevice:device]; \
    _dataSource = [source retain]; \
    return self; \
  } \
  - (void)dealloc { \
    [(id)_dataSource release]; \
    [super dealloc]; \
  } \
  @end \
  @implementation CLASS \
  STATE_MEMBER(KERNEL*, NAME, kernel) \
  STATE_MEMBER(id<MTLBuffer>, gamma, gamma) \
  STATE_MEMBER(id<MTLBuffer>, beta, beta) \
  STATE_MEMBER(id<MTLBuffer>, gradientForGamma, gamma_gradient) \
  STATE_MEMBER(id<MTLBuffer>, gradientForBeta, beta_gradient) \
  __VA_ARGS__ \
  @end
// Statistics and gradients belong to one encoding: a reset keeps nothing.
NORMALIZATION_STATE(MPSCNNBatchNormalizationState, MPSCNNBatchNormalization,
                    batchNormalization,
                    STATE_MEMBER(id<MTLBuffer>, mean, mean)
                    STATE_MEMBER(id<MTLBuffer>, variance, variance)
                    - (void)reset {})
NORMALIZATION_STATE(MPSCNNInstanceNormalizationGradientState,
                    MPSCNNInstanceNormalization, instanceNormalization)
NORMALIZATION_STATE(MPSCNNGroupNormalizationGradientState,
                    MPSCNNGroupNormalization, groupNormalization)
// clang-format on
