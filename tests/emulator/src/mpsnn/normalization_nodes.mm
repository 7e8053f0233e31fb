// SPDX-License-Identifier: MIT
// Nodes of batch, instance and group normalization and of their gradients.
#import <MPSNeuralNetwork/MPSCNNStatisticsNormalizationNodes.h>

#import "nodes/node_class.h"
#import "normalization_weights.h"

using emulator::refuse;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::NormalizationWeights;
using emulator::mpsnn::StatisticsOf;

/// What the three forward nodes tell their gradients.
@protocol EmulatedNormalization
- (id)dataSource;
- (StatisticsOf)kind;
- (MPSCNNBatchNormalizationFlags)statisticsFlags;
@end

namespace emulator::mpsnn {
namespace {

std::shared_ptr<NormalizationWeights> weights_of(id<EmulatedNormalization> node,
                                                 GraphBuild& build) {
  return build.share<NormalizationWeights>((id)node, [&] {
    return NormalizationWeights::make([node dataSource], [node kind], build);
  });
}

/// This runtime does not always find protocols.
void require_source(id node, MPSNNImageNode* source, id data_source) {
  const char* what = object_getClassName(node);
  if (!source) refuse(what, @"the source is nil");
  if (![data_source respondsToSelector:@selector(numberOfFeatureChannels)] ||
      ![data_source respondsToSelector:@selector(gamma)]) {
    refuse(what, @"%@ is no data source of a normalization", data_source);
  }
}

void require_state(id node, MPSNNStateNode* state, Class producer) {
  if ([[state producer] isKindOfClass:producer]) return;
  refuse(object_getClassName(node), @"%@ is not the state of %@", state,
         producer);
}

std::shared_ptr<FilterKernel> gradient_kernel_of(MPSNNFilterNode* node,
                                                 MPSNNTrainingStyle style,
                                                 GraphBuild& build) {
  auto forward = (id<EmulatedNormalization>)[[[node sourceStates]
      objectAtIndex:0] producer];
  return make_normalization_gradient(weights_of(forward, build),
                                     [forward statisticsFlags], style);
}

}  // namespace
}  // namespace emulator::mpsnn

// clang-format off
/// The two nodes of one kind. What follows is of the forward node.
#define NORMALIZATION(KIND, STATE, FLAGS, ...) \
  @interface MPSCNN##KIND##NormalizationNode (Emulator) \
      <EmulatedNormalization> \
  @end \
  @implementation MPSCNN##KIND##NormalizationNode \
  @synthesize trainingStyle = _trainingStyle; \
  __VA_ARGS__ \
  NODE((id<MPSCNN##KIND##NormalizationDataSource>, dataSource)) { \
    emulator::mpsnn::require_source(self, source, dataSource); \
    self = [super initWithSources:[NSArray arrayWithObject:source] \
                           states:nil]; \
    _dataSource = [(id)dataSource retain]; \
    _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU; \
    return self; \
  } \
  - (void)dealloc { \
    [(id)_dataSource release]; \
    [super dealloc]; \
  } \
  - (id)dataSource { return _dataSource; } \
  - (StatisticsOf)kind { return StatisticsOf::KIND; } \
  - (MPSCNNBatchNormalizationFlags)statisticsFlags { return FLAGS; } \
  - (Class)stateClass { return [STATE class]; } \
  - (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel: \
      (GraphBuild&)build { \
    return emulator::mpsnn::make_normalization( \
        emulator::mpsnn::weights_of(self, build), [self statisticsFlags]); \
  } \
  - (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes: \
      (MPSNNImageNode*)gradient { \
    auto* node = [MPSCNN##KIND##NormalizationGradientNode \
        nodeWithSourceGradient:gradient \
                   sourceImage:[self sourceImage] \
                 gradientState:emulator::mpsnn::gradient_state_of(self)]; \
    [node setTrainingStyle:_trainingStyle]; \
    return [NSArray arrayWithObject:node]; \
  } \
  @end \
  @implementation MPSCNN##KIND##NormalizationGradientNode \
  @synthesize trainingStyle = _trainingStyle; \
  GRADIENT_NODE() { \
    emulator::mpsnn::require_state( \
        self, gradientState, [MPSCNN##KIND##NormalizationNode class]); \
    self = [super initWithSourceGradient:sourceGradient \
                             sourceImage:sourceImage \
                                   state:gradientState]; \
    _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU; \
    return self; \
  } \
  - (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel: \
      (GraphBuild&)build { \
    return emulator::mpsnn::gradient_kernel_of(self, _trainingStyle, build); \
  } \
  @end

NORMALIZATION(Batch, MPSCNNBatchNormalizationState, _flags,
              @synthesize flags = _flags;)
NORMALIZATION(Instance, MPSCNNInstanceNormalizationGradientState,
              MPSCNNBatchNormalizationFlagsDefault)
NORMALIZATION(Group, MPSCNNGroupNormalizationGradientState,
              MPSCNNBatchNormalizationFlagsDefault)
// clang-format on
