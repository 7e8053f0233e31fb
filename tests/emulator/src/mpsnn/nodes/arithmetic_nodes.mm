// SPDX-License-Identifier: MIT
// MPSNNBinaryArithmeticNode, its subclasses and their gradient nodes.
#import <MPSNeuralNetwork/MPSNNArithmeticNodes.h>

#include <cfloat>

#include "mpsnn/binary_kernels.h"
#import "mpsnn/nodes/node_class.h"

using emulator::refuse;
using emulator::mpsnn::Binary;
using emulator::mpsnn::BinaryOp;
using emulator::mpsnn::both;
using emulator::mpsnn::Strides;

// To override.
@interface MPSNNBinaryArithmeticNode ()
- (Binary)binary;
@end
@interface MPSNNArithmeticGradientNode ()
- (BOOL)isProduct;
@end

@implementation MPSNNBinaryArithmeticNode
@synthesize primaryScale = _primaryScale, secondaryScale = _secondaryScale,
            bias = _bias, primaryStrideInPixelsX = _primaryStrideInPixelsX,
            primaryStrideInPixelsY = _primaryStrideInPixelsY,
            primaryStrideInFeatureChannels = _primaryStrideInFeatureChannels,
            secondaryStrideInPixelsX = _secondaryStrideInPixelsX,
            secondaryStrideInPixelsY = _secondaryStrideInPixelsY,
            secondaryStrideInFeatureChannels =
                _secondaryStrideInFeatureChannels,
            minimumValue = _minimumValue, maximumValue = _maximumValue;

MADE(LeftSource, MPSNNImageNode*, left, (MPSNNImageNode*, rightSource)) {
  return [self initWithSources:both(left, rightSource)];
}
MADE(Sources, NSArray<MPSNNImageNode*>*, sources) {
  if ([sources count] != 2) {
    refuse(object_getClassName(self), @"%lu sources, not two",
           (unsigned long)[sources count]);
  }
  self = [super initWithSources:sources states:nil];
  _primaryScale = _secondaryScale = 1;
  _minimumValue = -FLT_MAX;
  _maximumValue = FLT_MAX;
  _primaryStrideInPixelsX = _primaryStrideInPixelsY =
      _primaryStrideInFeatureChannels = 1;
  _secondaryStrideInPixelsX = _secondaryStrideInPixelsY =
      _secondaryStrideInFeatureChannels = 1;
  return self;
}

- (Binary)binary {
  Binary binary;
  binary.primary_scale = _primaryScale;
  binary.secondary_scale = _secondaryScale;
  binary.bias = _bias;
  binary.minimum = _minimumValue;
  binary.maximum = _maximumValue;
  binary.primary = {std::int64_t(_primaryStrideInPixelsX),
                    std::int64_t(_primaryStrideInPixelsY),
                    std::int64_t(_primaryStrideInFeatureChannels)};
  binary.secondary = {std::int64_t(_secondaryStrideInPixelsX),
                      std::int64_t(_secondaryStrideInPixelsY),
                      std::int64_t(_secondaryStrideInFeatureChannels)};
  return binary;
}

KERNEL(emulator::mpsnn::binary_kernel(object_getClassName(self), [self binary]))

- (Class)stateNodeClass {
  return [MPSNNArithmeticGradientStateNode class];
}

/// Division and comparison have none.
- (Class)gradientClass {
  refuse(object_getClassName(self), @"has no gradient filter");
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  Class made = [self gradientClass];
  NSMutableArray* nodes = [NSMutableArray array];
  for (NSUInteger i = 0; i < 2; ++i) {
    // Products need the other source, the others only know the own size.
    const NSUInteger image =
        [self binary].op == BinaryOp::kMultiply ? 1 - i : i;
    NSArray* images = both(gradient, [[self sourceImages] objectAtIndex:image]);
    [nodes addObject:[[[made alloc] initWithGradientImages:images
                                             forwardFilter:self
                                   isSecondarySourceFilter:i] autorelease]];
  }
  return nodes;
}

- (MPSNNGradientFilterNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  (void)gradients;
  refuse(object_getClassName(self),
         @"has two gradient filters: gradientFilterWithSources is unavailable");
}

- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  return [super gradientFiltersWithSources:gradients];
}
@end

#define ARITHMETIC(CLASS, OPERATION, ...)                           \
  @implementation CLASS                                             \
  -(Binary)binary {                                                 \
    Binary binary = [super binary];                                 \
    binary.op = BinaryOp::k##OPERATION;                             \
    return binary;                                                  \
  }                                                                 \
  __VA_OPT__(-(Class)gradientClass { return [__VA_ARGS__ class]; }) \
  @end
ARITHMETIC(MPSNNAdditionNode, Add, MPSNNAdditionGradientNode)
ARITHMETIC(MPSNNSubtractionNode, Subtract, MPSNNSubtractionGradientNode)
ARITHMETIC(MPSNNMultiplicationNode, Multiply, MPSNNMultiplicationGradientNode)
ARITHMETIC(MPSNNDivisionNode, Divide)

@implementation MPSNNComparisonNode
@synthesize comparisonType = _comparisonType;

- (Binary)binary {
  if (_comparisonType > MPSNNComparisonTypeGreaterOrEqual) {
    refuse("MPSNNComparisonNode", @"no comparison has type %lu",
           (unsigned long)_comparisonType);
  }
  Binary binary = [super binary];
  binary.op = BinaryOp::kCompare;
  binary.comparison = static_cast<emulator::mpsnn::Comparison>(_comparisonType);
  return binary;
}
@end

@implementation MPSNNArithmeticGradientNode
@synthesize primaryScale = _primaryScale, secondaryScale = _secondaryScale,
            bias = _bias, secondaryStrideInPixelsX = _secondaryStrideInPixelsX,
            secondaryStrideInPixelsY = _secondaryStrideInPixelsY,
            secondaryStrideInFeatureChannels =
                _secondaryStrideInFeatureChannels,
            minimumValue = _minimumValue, maximumValue = _maximumValue,
            isSecondarySourceFilter = _isSecondarySourceFilter;

MADE(SourceGradient, MPSNNImageNode*, sourceGradient,
     (MPSNNImageNode*, sourceImage),
     (MPSNNBinaryGradientStateNode*, gradientState),
     (BOOL, isSecondarySourceFilter)) {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _primaryScale = _secondaryScale = 1;
  _minimumValue = -FLT_MAX;
  _maximumValue = FLT_MAX;
  _secondaryStrideInPixelsX = _secondaryStrideInPixelsY =
      _secondaryStrideInFeatureChannels = 1;
  _isSecondarySourceFilter = isSecondarySourceFilter;
  return self;
}

- (instancetype)initWithGradientImages:(NSArray<MPSNNImageNode*>*)images
                         forwardFilter:(MPSNNFilterNode*)filter
               isSecondarySourceFilter:(BOOL)isSecondary {
  if ([images count] != 2 ||
      ![filter isKindOfClass:[MPSNNBinaryArithmeticNode class]]) {
    refuse(object_getClassName(self),
           @"wants a gradient, a source image and an arithmetic filter");
  }
  self = [self initWithSourceGradient:[images objectAtIndex:0]
                          sourceImage:[images objectAtIndex:1]
                        gradientState:(MPSNNBinaryGradientStateNode*)
                                          [filter resultState]
              isSecondarySourceFilter:isSecondary];
  const Binary forward = [(MPSNNBinaryArithmeticNode*)filter binary];
  const Strides& own = isSecondary ? forward.secondary : forward.primary;
  _secondaryStrideInPixelsX = own.x;
  _secondaryStrideInPixelsY = own.y;
  _secondaryStrideInFeatureChannels = own.channels;
  // The gradient is this filter's primary image: its scale is the factor of
  // sums, with the sign of the subtrahend.
  _primaryScale = forward.primary_scale;
  _secondaryScale = forward.secondary_scale;
  if (isSecondary && forward.op != BinaryOp::kMultiply) {
    const double sign = forward.op == BinaryOp::kSubtract ? -1 : 1;
    _primaryScale = sign * forward.secondary_scale;
  }
  _bias = forward.bias;
  _minimumValue = forward.minimum;
  _maximumValue = forward.maximum;
  return self;
}

- (BOOL)isProduct {
  return NO;
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  emulator::mpsnn::BinaryGradientNode node;
  node.is_product = [self isProduct];
  node.is_secondary = _isSecondarySourceFilter;
  node.primary_scale = _primaryScale;
  node.secondary_scale = _secondaryScale;
  node.strides = {std::int64_t(_secondaryStrideInPixelsX),
                  std::int64_t(_secondaryStrideInPixelsY),
                  std::int64_t(_secondaryStrideInFeatureChannels)};
  return emulator::mpsnn::binary_gradient_kernel(object_getClassName(self),
                                                 node);
}
@end

@implementation MPSNNAdditionGradientNode
@end
@implementation MPSNNSubtractionGradientNode
@end
@implementation MPSNNMultiplicationGradientNode
- (BOOL)isProduct {
  return YES;
}
@end
