// SPDX-License-Identifier: MIT
// MPSNNGramMatrixCalculationNode and its gradient node.
#import <MPSNeuralNetwork/MPSNNStructureNodes.h>

#import "mpsnn/nodes/made_by.h"
#import "mpsnn/structure_kernels.h"

using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::gradient_state_of;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;

@implementation MPSNNGramMatrixCalculationNode
@synthesize alpha = _alpha;
@synthesize propertyCallBack = _propertyCallBack;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode {
  return [[[self alloc] initWithSource:sourceNode] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode alpha:(float)alpha {
  return [[[self alloc] initWithSource:sourceNode alpha:alpha] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [self initWithSource:sourceNode alpha:1];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode alpha:(float)alpha {
  self = [super initWithSources:only(sourceNode) states:nil];
  _alpha = alpha;
  return self;
}
- (void)dealloc {
  [(id)_propertyCallBack release];
  [super dealloc];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::gram_matrix_kernel(_alpha, _propertyCallBack);
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSNNGramMatrixCalculationGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)
                                           alpha:_alpha]];
}
@end

@implementation MPSNNGramMatrixCalculationGradientNode
@synthesize alpha = _alpha;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                                 alpha:(float)alpha {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                         alpha:alpha] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [self initWithSourceGradient:sourceGradient
                          sourceImage:sourceImage
                        gradientState:gradientState
                                alpha:1];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                                 alpha:(float)alpha {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _alpha = alpha;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::gram_matrix_gradient_kernel(
      "MPSNNGramMatrixCalculationGradientNode", _alpha);
}
@end
