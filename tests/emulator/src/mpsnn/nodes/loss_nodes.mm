// SPDX-License-Identifier: MIT
// MPSCNNLossNode, MPSNNForwardLossNode, MPSNNLossGradientNode and
// MPSNNInitialGradientNode.
#import <MPSNeuralNetwork/MPSCNNLossNodes.h>

#include <algorithm>

#import "mpsnn/loss_kernels.h"
#import "mpsnn/nodes/made_by.h"
#include "mpsnn/picture_kernels.h"

using emulator::refuse;
using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;
using emulator::mpsnn::require_loss;

@implementation MPSCNNLossNode
@synthesize inputLabels = _inputLabels;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  return [[[self alloc] initWithSource:source
                        lossDescriptor:descriptor] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  require_loss("MPSCNNLossNode", descriptor);
  MPSNNLabelsNode* labels = [MPSNNLabelsNode sourceNode];
  self = [super initWithSources:only(source)
                         states:[NSArray arrayWithObject:labels]];
  _descriptor = [descriptor copy];
  _inputLabels = [labels retain];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [_inputLabels release];
  [super dealloc];
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::loss_kernel("MPSCNNLossNode",
                                      emulator::mpsnn::loss_of(_descriptor));
}

- (Class)stateNodeClass {
  return Nil;
}

- (BOOL)resultIsGradient {
  return YES;
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  (void)gradient;
  refuse("MPSCNNLossNode", @"the result is the gradient already");
}
@end

@interface MPSNNLossGradientNode ()
- (instancetype)initWithForward:(MPSNNForwardLossNode*)forward
                     descriptor:(MPSCNNLossDescriptor*)descriptor
                       gradient:(MPSNNImageNode*)gradient
                       isLabels:(BOOL)isLabels;
@end

@implementation MPSNNForwardLossNode
@synthesize propertyCallBack = _propertyCallBack;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                       weights:(MPSNNImageNode*)weights
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  return [[[self alloc] initWithSource:source
                                labels:labels
                               weights:weights
                        lossDescriptor:descriptor] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  return [[[self alloc] initWithSource:source
                                labels:labels
                        lossDescriptor:descriptor] autorelease];
}
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sources
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  return [[[self alloc] initWithSources:sources
                         lossDescriptor:descriptor] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                       weights:(MPSNNImageNode*)weights
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  NSArray* sources =
      source && labels ? [NSArray arrayWithObjects:source, labels, weights, nil]
                       : nil;
  return [self initWithSources:sources lossDescriptor:descriptor];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                        labels:(MPSNNImageNode*)labels
                lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  return [self initWithSource:source
                       labels:labels
                      weights:nil
               lossDescriptor:descriptor];
}
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sources
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor {
  require_loss("MPSNNForwardLossNode", descriptor);
  if ([sources count] < 2 || [sources count] > 3) {
    refuse("MPSNNForwardLossNode",
           @"wants predictions, labels and perhaps weights");
  }
  self = [super initWithSources:sources states:nil];
  _descriptor = [descriptor copy];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [(id)_propertyCallBack release];
  [super dealloc];
}

- (MPSCNNLossType)lossType {
  return [_descriptor lossType];
}
- (MPSCNNReductionType)reductionType {
  return [_descriptor reductionType];
}
- (NSUInteger)numberOfClasses {
  return [_descriptor numberOfClasses];
}
- (BOOL)reduceAcrossBatch {
  return [_descriptor reduceAcrossBatch];
}
- (float)weight {
  return [_descriptor weight];
}
- (float)labelSmoothing {
  return [_descriptor labelSmoothing];
}
- (float)epsilon {
  return [_descriptor epsilon];
}
- (float)delta {
  return [_descriptor delta];
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::forward_loss_kernel(
      "MPSNNForwardLossNode", emulator::mpsnn::loss_of(_descriptor),
      _propertyCallBack);
}

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
@synthesize propertyCallBack = _propertyCallBack;
@synthesize isLabelsGradientFilter = _isLabelsGradientFilter;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                                labels:(MPSNNImageNode*)labels
                               weights:(MPSNNImageNode*)weights
                         gradientState:(MPSNNGradientStateNode*)state
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabels {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:source
                                        labels:labels
                                       weights:weights
                                 gradientState:state
                                lossDescriptor:descriptor
                        isLabelsGradientFilter:isLabels] autorelease];
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                                labels:(MPSNNImageNode*)labels
                         gradientState:(MPSNNGradientStateNode*)state
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabels {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:source
                                        labels:labels
                                 gradientState:state
                                lossDescriptor:descriptor
                        isLabelsGradientFilter:isLabels] autorelease];
}
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sources
                  gradientState:(MPSNNGradientStateNode*)state
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor
         isLabelsGradientFilter:(BOOL)isLabels {
  return [[[self alloc] initWithSources:sources
                          gradientState:state
                         lossDescriptor:descriptor
                 isLabelsGradientFilter:isLabels] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                                labels:(MPSNNImageNode*)labels
                               weights:(MPSNNImageNode*)weights
                         gradientState:(MPSNNGradientStateNode*)state
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabels {
  NSArray* sources =
      gradient && source && labels
          ? [NSArray arrayWithObjects:gradient, source, labels, weights, nil]
          : nil;
  return [self initWithSources:sources
                 gradientState:state
                lossDescriptor:descriptor
        isLabelsGradientFilter:isLabels];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                                labels:(MPSNNImageNode*)labels
                         gradientState:(MPSNNGradientStateNode*)state
                        lossDescriptor:(MPSCNNLossDescriptor*)descriptor
                isLabelsGradientFilter:(BOOL)isLabels {
  return [self initWithSourceGradient:gradient
                          sourceImage:source
                               labels:labels
                              weights:nil
                        gradientState:state
                       lossDescriptor:descriptor
               isLabelsGradientFilter:isLabels];
}
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sources
                  gradientState:(MPSNNGradientStateNode*)state
                 lossDescriptor:(MPSCNNLossDescriptor*)descriptor
         isLabelsGradientFilter:(BOOL)isLabels {
  require_loss("MPSNNLossGradientNode", descriptor);
  if ([sources count] < 3 || [sources count] > 4) {
    refuse("MPSNNLossGradientNode",
           @"wants a gradient, predictions, labels and perhaps weights");
  }
  self = [super initWithSources:sources
                         states:state ? [NSArray arrayWithObject:state] : nil];
  _descriptor = [descriptor copy];
  _isLabelsGradientFilter = isLabels;
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

- (MPSCNNLossType)lossType {
  return [_descriptor lossType];
}
- (MPSCNNReductionType)reductionType {
  return [_descriptor reductionType];
}
- (NSUInteger)numberOfClasses {
  return [_descriptor numberOfClasses];
}
- (BOOL)reduceAcrossBatch {
  return [_descriptor reduceAcrossBatch];
}
- (float)weight {
  return [_descriptor weight];
}
- (float)labelSmoothing {
  return [_descriptor labelSmoothing];
}
- (float)epsilon {
  return [_descriptor epsilon];
}
- (float)delta {
  return [_descriptor delta];
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::loss_gradient_kernel(
      "MPSNNLossGradientNode", emulator::mpsnn::loss_of(_descriptor),
      _isLabelsGradientFilter, _propertyCallBack);
}
@end

@implementation MPSNNInitialGradientNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [super initWithSources:only(source) states:nil];
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
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

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  (void)gradient;
  refuse("MPSNNInitialGradientNode", @"the result is a gradient already");
}
@end
