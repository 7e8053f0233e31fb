// SPDX-License-Identifier: MIT
// Nodes of convolutions and of their gradients.
#import "convolution_kernels.h"
#import "nodes/node_class.h"

using emulator::refuse;
using emulator::mpsnn::ConvolutionKind;
using emulator::mpsnn::ConvolutionWeights;
using emulator::mpsnn::GraphBuild;

@interface MPSCNNConvolutionNode ()
- (instancetype)initWithSource:(MPSNNImageNode*)source
                         state:(MPSNNStateNode*)state
                       weights:(id<MPSCNNConvolutionDataSource>)weights;
- (id<MPSCNNConvolutionDataSource>)dataSource;
- (ConvolutionKind)kind;
- (Class)gradientClass;
@end

namespace emulator::mpsnn {
namespace {

std::shared_ptr<ConvolutionWeights> weights_of(MPSCNNConvolutionNode* node,
                                               GraphBuild& build) {
  return build.share<ConvolutionWeights>(node, [&] {
    return ConvolutionWeights::make(
        [node dataSource], [node kind] == ConvolutionKind::Transpose, build);
  });
}

}  // namespace
}  // namespace emulator::mpsnn

@implementation MPSCNNConvolutionNode
@synthesize trainingStyle = _trainingStyle,
            accumulatorPrecision = _accumulatorPrecision;

NODE((id<MPSCNNConvolutionDataSource>, weights)) {
  return [self initWithSource:source state:nil weights:weights];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                         state:(MPSNNStateNode*)state
                       weights:(id<MPSCNNConvolutionDataSource>)weights {
  const char* what = object_getClassName(self);
  if (!source || !weights) refuse(what, @"source or weights are nil");
  // This runtime does not always find protocols.
  if (![weights respondsToSelector:@selector(descriptor)] ||
      ![weights respondsToSelector:@selector(weights)]) {
    refuse(what, @"%@ is no MPSCNNConvolutionDataSource", weights);
  }
  self = [super initWithSources:[NSArray arrayWithObject:source]
                         states:state ? [NSArray arrayWithObject:state] : nil];
  _weights = [(id)weights retain];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  _accumulatorPrecision = MPSNNConvolutionAccumulatorPrecisionOptionFloat;
  return self;
}

- (void)dealloc {
  [(id)_weights release];
  [super dealloc];
}

- (id<MPSCNNConvolutionDataSource>)dataSource {
  return _weights;
}
- (ConvolutionKind)kind {
  return ConvolutionKind::Plain;
}
- (Class)gradientClass {
  return [MPSCNNConvolutionGradientNode class];
}
- (Class)stateNodeClass {
  return [MPSCNNConvolutionGradientStateNode class];
}
- (Class)stateClass {
  return [MPSCNNConvolutionGradientState class];
}
- (MPSCNNConvolutionGradientStateNode*)convolutionGradientState {
  return (MPSCNNConvolutionGradientStateNode*)[self resultState];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  auto weights = emulator::mpsnn::weights_of(self, build);
  const bool has_half_sums =
      _accumulatorPrecision == MPSNNConvolutionAccumulatorPrecisionOptionHalf;
  if (has_half_sums && !weights->has_half_weights()) {
    refuse(object_getClassName(self),
           @"float32 weights need float32 accumulators");
  }
  return emulator::mpsnn::make_convolution(weights,
                                           {[self kind], has_half_sums});
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  MPSCNNConvolutionGradientNode* node = [[[[self gradientClass] alloc]
        initWithSourceGradient:gradient
                   sourceImage:[self sourceImage]
      convolutionGradientState:(MPSCNNConvolutionGradientStateNode*)
                                   [self resultState]
                       weights:nil] autorelease];
  [node setTrainingStyle:_trainingStyle];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNFullyConnectedNode
- (ConvolutionKind)kind {
  return ConvolutionKind::FullyConnected;
}
- (Class)gradientClass {
  return [MPSCNNFullyConnectedGradientNode class];
}
@end

@implementation MPSCNNConvolutionTransposeNode
NODE((MPSCNNConvolutionGradientStateNode*, convolutionGradientState),
     (id<MPSCNNConvolutionDataSource>, weights)) {
  return [self initWithSource:source
                        state:convolutionGradientState
                      weights:weights];
}

- (ConvolutionKind)kind {
  return ConvolutionKind::Transpose;
}
- (Class)gradientClass {
  return [MPSCNNConvolutionTransposeGradientNode class];
}
- (Class)stateNodeClass {
  return [MPSCNNConvolutionTransposeGradientStateNode class];
}
- (Class)stateClass {
  return [MPSCNNConvolutionTransposeGradientState class];
}
- (MPSCNNConvolutionGradientStateNode*)convolutionGradientState {
  refuse("MPSCNNConvolutionTransposeNode",
         @"convolutionGradientState is unavailable");
}
@end

@implementation MPSCNNConvolutionGradientNode
@synthesize trainingStyle = _trainingStyle;

MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
     (MPSNNImageNode*, sourceImage),
     (MPSCNNConvolutionGradientStateNode*, convolutionGradientState),
     (id<MPSCNNConvolutionDataSource>, weights)) {
  const char* what = object_getClassName(self);
  if (![convolutionGradientState
          isKindOfClass:[MPSCNNConvolutionGradientStateNode class]] ||
      ![[convolutionGradientState producer]
          isKindOfClass:[MPSCNNConvolutionNode class]]) {
    refuse(what, @"%@ is not the state of a convolution",
           convolutionGradientState);
  }
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:convolutionGradientState];
  _weights = [(id)weights retain];
  _trainingStyle = MPSNNTrainingStyleUpdateDeviceGPU;
  return self;
}

- (void)dealloc {
  [(id)_weights release];
  [super dealloc];
}

/// The forward filter's weights, unless another data source was given.
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (GraphBuild&)build {
  auto* forward =
      (MPSCNNConvolutionNode*)[[[self sourceStates] objectAtIndex:0] producer];
  const bool owns_weights = _weights && _weights != [forward dataSource];
  auto weights =
      owns_weights
          ? ConvolutionWeights::make(
                _weights, [forward kind] == ConvolutionKind::Transpose, build)
          : emulator::mpsnn::weights_of(forward, build);
  return emulator::mpsnn::make_convolution_gradient(weights, owns_weights,
                                                    _trainingStyle);
}
@end

@implementation MPSCNNFullyConnectedGradientNode
@end

@implementation MPSCNNConvolutionTransposeGradientNode
MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
     (MPSNNImageNode*, sourceImage),
     (MPSCNNConvolutionTransposeGradientStateNode*,
      convolutionTransposeGradientState),
     (id<MPSCNNConvolutionDataSource>, weights)) {
  return [self initWithSourceGradient:sourceGradient
                          sourceImage:sourceImage
             convolutionGradientState:convolutionTransposeGradientState
                              weights:weights];
}
@end
