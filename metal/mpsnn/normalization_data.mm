// SPDX-License-Identifier: MIT
#import "metal/mpsnn/normalization_data.h"

#import "metal/mpsnn/read_counts.h"

using traingraph::metal::count_read;
using traingraph::metal::FilterParameters;
using traingraph::metal::GradientParts;

namespace {

/// `State` is that of an image. Where all images have one, it is of them all.
template <class State>
MPSCNNNormalizationGammaAndBetaState* update(FilterParameters* parameters,
                                             id<MTLCommandBuffer> buffer,
                                             NSArray* batch) {
  GradientParts gamma, beta;
  State* last = nil;
  for (State* state in batch) {
    if (state == last) continue;
    gamma.push_back([state gradientForGamma]);
    beta.push_back([state gradientForBeta]);
    last = state;
  }
  MPSCNNNormalizationGammaAndBetaState* updated =
      parameters->update_gamma_and_beta(buffer, gamma, beta);
  last = nil;
  for (State* state in batch) {
    if (state != last) count_read(state);
    last = state;
  }
  return updated;
}

}  // namespace

@implementation TGNormalizationData
@synthesize numberOfGroups = _numberOfGroups;

+ (instancetype)dataWithFilter:(const traingraph::NormalizationFilter&)filter
                    parameters:(FilterParameters*)parameters {
  TGNormalizationData* data = [self dataWithParameters:parameters];
  data->_channels = static_cast<NSUInteger>(filter.channels);
  data->_numberOfGroups = static_cast<NSUInteger>(filter.groups);
  data->_epsilon = filter.epsilon;
  return data;
}

- (id)copyWithZone:(NSZone*)zone {
  TGNormalizationData* copy = [super copyWithZone:zone];
  copy->_channels = _channels;
  copy->_numberOfGroups = _numberOfGroups;
  copy->_epsilon = _epsilon;
  return copy;
}

- (NSUInteger)numberOfFeatureChannels {
  return _channels;
}
- (float)epsilon {
  return _epsilon;
}
- (float*)gamma {
  return _parameters->host("gamma");
}
- (float*)beta {
  return _parameters->host("beta");
}
- (float*)mean {
  return _parameters->host("mean");
}
- (float*)variance {
  return _parameters->host("variance");
}

// One state for the whole batch. Each of its two readers counts.
- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                batchNormalizationState:(MPSCNNBatchNormalizationState*)state {
  return update<MPSCNNBatchNormalizationState>(_parameters, buffer,
                                               [NSArray arrayWithObject:state]);
}
- (MPSCNNNormalizationMeanAndVarianceState*)
    updateMeanAndVarianceWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                   batchNormalizationState:
                       (MPSCNNBatchNormalizationState*)state {
  _parameters->move_statistics(buffer, [state mean], [state variance]);
  count_read(state);
  return nil;
}

- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
        instanceNormalizationStateBatch:
            (MPSCNNInstanceNormalizationGradientStateBatch*)batch {
  return update<MPSCNNInstanceNormalizationGradientState>(_parameters, buffer,
                                                          batch);
}
- (MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)buffer
           groupNormalizationStateBatch:
               (MPSCNNGroupNormalizationGradientStateBatch*)batch {
  return update<MPSCNNGroupNormalizationGradientState>(_parameters, buffer,
                                                       batch);
}
@end
