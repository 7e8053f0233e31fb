// SPDX-License-Identifier: MIT
// MPSCNNLossNode, MPSNNForwardLossNode, MPSNNLossGradientNode and
// MPSNNInitialGradientNode.
#import <MPSNeuralNetwork/MPSCNNLossNodes.h>

#include <algorithm>

#import "mpsnn/loss_kernels.h"
#import "mpsnn/nodes/node_class.h"
#include "mpsnn/picture_kernels.h"

using emulator::refuse;
using emulator::mpsnn::require_loss;

#define OF_DESCRIPTOR(TYPE, NAME) \
  -(TYPE)NAME {                   \
    return [_descriptor NAME];    \
  }

@implementation MPSCNNLossNode
@synthesize inputLabels = _inputLabels;

NODE((MPSCNNLossDescriptor*, lossDescriptor)) {
  require_loss("MPSCNNLossNode", lossDescriptor);
  MPSNNLabelsNode* labels = [MPSNNLabelsNode sourceNode];
  self = [super initWithSources:emulator::mpsnn::only(source)
                         states:[NSArray arrayWithObject:labels]];
  _descriptor = [lossDescriptor copy];
  _inputLabels = [labels retain];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [_inputLabels release];
  [super dealloc];
}

KERNEL(emulator::mpsnn::loss_kernel("MPSCNNLossNode",
                                    emulator::mpsnn::loss_of(_descriptor)))

- (Class)stateNodeClass {
  return Nil;
}

- (BOOL)resultIsGradient {
  return YES;
}

NO_GRADIENT(@"the result is the gradient already")
@end

@interface MPSNNLossGradientNode ()
- (instancetype)initWithForward:(MPSNNForwardLossNode*)forward
                     descriptor:(MPSCNNLossDescriptor*)descriptor
                       gradient:(MPSNNImageNode*)gradient
                       isLabels:(BOOL)isLabels;
@end

@implementation MPSNNForwardLossNode
@synthesize propertyCallBack = _propertyCallBack;

NODE((MPSNNImageNode*, labels), (MPSNNImageNode*, weights),
     (MPSCNNLossDescriptor*, lossDescriptor)) {
  NSArray* sources =
      source && labels ? [NSArray arrayWithObjects:source, labels, weights, nil]
                       : nil;
  return [self initWithSources:sources lossDescriptor:lossDescriptor];
}
NODE((MPSNNImageNode*, labels), (MPSCNNLossDescriptor*, lossDescriptor)) {
  return [self initWithSource:source
                       labels:labels
                      weights:nil
               lossDescriptor:lossDescriptor];
}
MADE(Sources, NSArray<MPSNNImageNode*>*, sources,
     (MPSCNNLossDescriptor*, lossDescriptor)) {
  require_loss("MPSNNForwardLossNode", lossDescriptor);
  if ([sources count] < 2 || [sources count] > 3) {
    refuse("MPSNNForwardLossNode",
           @"wants predictions, labels and perhaps weights");
  }
  self = [super initWithSources:sources states:nil];
  _descriptor = [lossDescriptor copy];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [(id)_propertyCallBack release];
  [super dealloc];
}

EMULATED_EACH(OF_DESCRIPTOR, EMULATED_LOSS)

KERNEL(emulator::mpsnn::forward_loss_kernel(
    "MPSNNForwardLossNode", emulator::mpsnn::loss_of(_descriptor),
    _propertyCallBack))

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  NSMutableArray* nodes = [NSMutableArray array];
  for (BOOL is_labels : {NO, YES}) {
    [nodes addObject:[[[MPSNNLossGradientNode alloc] initWithForward:self
                                                          descriptor:_descriptor
                                                            gradient:gradient
                                                            isLabels:is_labels]
                         autorelease]];
  }
  return nodes;
}

- (MPSNNLossGradientNode*)gradientFilterWithSource:(MPSNNImageNode*)gradient {
  return [[self gradientFiltersWithSource:gradient] objectAtIndex:0];
}
- (MPSNNLossGradientNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  return [[self gradientFiltersWithSources:gradients] objectAtIndex:0];
}
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSource:
    (MPSNNImageNode*)gradient {
  return (NSArray*)[super gradientFiltersWithSource:gradient];
}
- (NSArray<MPSNNLossGradientNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  return (NSArray*)[super gradientFiltersWithSources:gradients];
}
@end

@implementation MPSNNLossGradientNode
@synthesize propertyCallBack = _propertyCallBack,
            isLabelsGradientFilter = _isLabelsGradientFilter;

MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
     (MPSNNImageNode*, sourceImage), (MPSNNImageNode*, labels),
     (MPSNNImageNode*, weights), EMULATED_LOSS_GRADIENT) {
  NSArray* sources =
      sourceGradient && sourceImage && labels
          ? [NSArray arrayWithObjects:sourceGradient, sourceImage, labels,
                                      weights, nil]
          : nil;
  return [self initWithSources:sources
                 gradientState:gradientState
                lossDescriptor:lossDescriptor
        isLabelsGradientFilter:isLabelsGradientFilter];
}
MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
     (MPSNNImageNode*, sourceImage), (MPSNNImageNode*, labels),
     EMULATED_LOSS_GRADIENT) {
  return [self initWithSourceGradient:sourceGradient
                          sourceImage:sourceImage
                               labels:labels
                              weights:nil
                        gradientState:gradientState
                       lossDescriptor:lossDescriptor
               isLabelsGradientFilter:isLabelsGradientFilter];
}
MADE(Sources, NSArray<MPSNNImageNode*>*, sources, EMULATED_LOSS_GRADIENT) {
  require_loss("MPSNNLossGradientNode", lossDescriptor);
  if ([sources count] < 3 || [sources count] > 4) {
    refuse("MPSNNLossGradientNode",
           @"wants a gradient, predictions, labels and perhaps weights");
  }
  self = [super
      initWithSources:sources
               states:gradientState ? [NSArray arrayWithObject:gradientState]
                                    : nil];
  _descriptor = [lossDescriptor copy];
  _isLabelsGradientFilter = isLabelsGradientFilter;
  return self;
}

- (instancetype)initWithForward:(MPSNNForwardLossNode*)forward
                     descriptor:(MPSCNNLossDescriptor*)descriptor
                       gradient:(MPSNNImageNode*)gradient
                       isLabels:(BOOL)isLabels {
  NSArray* sources = [[NSArray arrayWithObject:gradient]
      arrayByAddingObjectsFromArray:[forward sourceImages]];
  self = [self initWithSources:sources
                 gradientState:emulator::mpsnn::gradient_state_of(forward)
                lossDescriptor:descriptor
        isLabelsGradientFilter:isLabels];
  [self setPropertyCallBack:[forward propertyCallBack]];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [(id)_propertyCallBack release];
  [super dealloc];
}

EMULATED_EACH(OF_DESCRIPTOR, EMULATED_LOSS)

KERNEL(emulator::mpsnn::loss_gradient_kernel(
    "MPSNNLossGradientNode", emulator::mpsnn::loss_of(_descriptor),
    _isLabelsGradientFilter, _propertyCallBack))
@end

@implementation MPSNNInitialGradientNode
KEEPING_NODE()

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::filter_of([](const auto& source) {
    emulator::mpsnn::Picture ones(source.extent);
    std::fill(ones.data.begin(), ones.data.end(), 1.0f);
    return ones;
  });
}

- (Class)stateNodeClass {
  return Nil;
}

- (BOOL)resultIsGradient {
  return YES;
}

NO_GRADIENT(@"the result is a gradient already")
@end
