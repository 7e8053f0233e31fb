// SPDX-License-Identifier: MIT
// MPSCNNSoftMaxNode, MPSCNNLogSoftMaxNode and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNSoftMaxNodes.h>

#include "mpsnn/arithmetic/softmax.h"
#import "mpsnn/nodes/made_by.h"
#include "mpsnn/picture_kernels.h"

using emulator::mpsnn::filter_of;
using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::gradient_of;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;

@implementation MPSCNNSoftMaxNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode {
  return [[[self alloc] initWithSource:sourceNode] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [super initWithSources:only(sourceNode) states:nil];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return filter_of(emulator::mpsnn::softmax);
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:
          [MPSCNNSoftMaxGradientNode
              nodeWithSourceGradient:gradient
                         sourceImage:[self resultImage]
                       gradientState:emulator::mpsnn::gradient_state_of(self)]];
}
@end

@implementation MPSCNNSoftMaxGradientNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return gradient_of(object_getClassName(self),
                     emulator::mpsnn::softmax_gradient);
}
@end

@implementation MPSCNNLogSoftMaxNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode {
  return [[[self alloc] initWithSource:sourceNode] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [super initWithSources:only(sourceNode) states:nil];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return filter_of(emulator::mpsnn::log_softmax);
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:
          [MPSCNNLogSoftMaxGradientNode
              nodeWithSourceGradient:gradient
                         sourceImage:[self resultImage]
                       gradientState:emulator::mpsnn::gradient_state_of(self)]];
}
@end

@implementation MPSCNNLogSoftMaxGradientNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return gradient_of(object_getClassName(self),
                     emulator::mpsnn::log_softmax_gradient);
}
@end
