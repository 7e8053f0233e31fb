// SPDX-License-Identifier: MIT
// Nodes of batch, instance and group normalization and of their gradients.
#import "normalization_weights.h"
#import "objects.h"

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

std::shared_ptr<FilterKernel> gradient_of(MPSNNFilterNode* node,
                                          MPSNNTrainingStyle style,
                                          GraphBuild& build) {
  auto forward = (id<EmulatedNormalization>)[[[node sourceStates]
      objectAtIndex:0] producer];
  return make_normalization_gradient(weights_of(forward, build),
                                     [forward statisticsFlags], style);
}

}  // namespace
}  // namespace emulator::mpsnn

@interface MPSCNNBatchNormalizationNode (Emulator) <EmulatedNormalization>
@end

@implementation MPSCNNBatchNormalizationNode
@synthesize flags = _flags;
@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:(id<MPSCNNBatchNormalizationDataSource>)weights {
  return [[[self alloc] initWithSource:source dataSource:weights] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:(id<MPSCNNBatchNormalizationDataSource>)weights {
  emulator::mpsnn::require_source(self, source, weights);
  self = [super initWithSources:[NSArray arrayWithObject:source] states:nil];
  _dataSource = [(id)weights retain];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}

- (id)dataSource {
  return _dataSource;
}
- (StatisticsOf)kind {
  return StatisticsOf::Batch;
}
- (MPSCNNBatchNormalizationFlags)statisticsFlags {
  return _flags;
}
- (Class)stateClass {
  return [MPSCNNBatchNormalizationState class];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::make_normalization(
      emulator::mpsnn::weights_of(self, build), [self statisticsFlags]);
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  auto* node = [MPSCNNBatchNormalizationGradientNode
      nodeWithSourceGradient:gradient
                 sourceImage:[self sourceImage]
               gradientState:(MPSNNGradientStateNode*)[self resultState]];
  [node setTrainingStyle:_trainingStyle];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNBatchNormalizationGradientNode
@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:image
                                 gradientState:state] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  emulator::mpsnn::require_state(self, state,
                                 [MPSCNNBatchNormalizationNode class]);
  self = [super initWithSourceGradient:gradient sourceImage:image state:state];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::gradient_of(self, _trainingStyle, build);
}
@end

@interface MPSCNNInstanceNormalizationNode (Emulator) <EmulatedNormalization>
@end

@implementation MPSCNNInstanceNormalizationNode

@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNInstanceNormalizationDataSource>)weights {
  return [[[self alloc] initWithSource:source dataSource:weights] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:
                        (id<MPSCNNInstanceNormalizationDataSource>)weights {
  emulator::mpsnn::require_source(self, source, weights);
  self = [super initWithSources:[NSArray arrayWithObject:source] states:nil];
  _dataSource = [(id)weights retain];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}

- (id)dataSource {
  return _dataSource;
}
- (StatisticsOf)kind {
  return StatisticsOf::Instance;
}
- (MPSCNNBatchNormalizationFlags)statisticsFlags {
  return MPSCNNBatchNormalizationFlagsDefault;
}
- (Class)stateClass {
  return [MPSCNNInstanceNormalizationGradientState class];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::make_normalization(
      emulator::mpsnn::weights_of(self, build), [self statisticsFlags]);
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  auto* node = [MPSCNNInstanceNormalizationGradientNode
      nodeWithSourceGradient:gradient
                 sourceImage:[self sourceImage]
               gradientState:(MPSNNGradientStateNode*)[self resultState]];
  [node setTrainingStyle:_trainingStyle];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNInstanceNormalizationGradientNode
@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:image
                                 gradientState:state] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  emulator::mpsnn::require_state(self, state,
                                 [MPSCNNInstanceNormalizationNode class]);
  self = [super initWithSourceGradient:gradient sourceImage:image state:state];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::gradient_of(self, _trainingStyle, build);
}
@end

@interface MPSCNNGroupNormalizationNode (Emulator) <EmulatedNormalization>
@end

@implementation MPSCNNGroupNormalizationNode

@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    dataSource:(id<MPSCNNGroupNormalizationDataSource>)weights {
  return [[[self alloc] initWithSource:source dataSource:weights] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                    dataSource:(id<MPSCNNGroupNormalizationDataSource>)weights {
  emulator::mpsnn::require_source(self, source, weights);
  self = [super initWithSources:[NSArray arrayWithObject:source] states:nil];
  _dataSource = [(id)weights retain];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}

- (id)dataSource {
  return _dataSource;
}
- (StatisticsOf)kind {
  return StatisticsOf::Group;
}
- (MPSCNNBatchNormalizationFlags)statisticsFlags {
  return MPSCNNBatchNormalizationFlagsDefault;
}
- (Class)stateClass {
  return [MPSCNNGroupNormalizationGradientState class];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::make_normalization(
      emulator::mpsnn::weights_of(self, build), [self statisticsFlags]);
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  auto* node = [MPSCNNGroupNormalizationGradientNode
      nodeWithSourceGradient:gradient
                 sourceImage:[self sourceImage]
               gradientState:(MPSNNGradientStateNode*)[self resultState]];
  [node setTrainingStyle:_trainingStyle];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNGroupNormalizationGradientNode
@synthesize trainingStyle = _trainingStyle;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:image
                                 gradientState:state] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                         gradientState:(MPSNNGradientStateNode*)state {
  emulator::mpsnn::require_state(self, state,
                                 [MPSCNNGroupNormalizationNode class]);
  self = [super initWithSourceGradient:gradient sourceImage:image state:state];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  return emulator::mpsnn::gradient_of(self, _trainingStyle, build);
}
@end
