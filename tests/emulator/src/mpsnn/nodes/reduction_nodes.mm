// SPDX-License-Identifier: MIT
// MPSNNUnaryReductionNode, its subclasses and the gradient of the mean of all
// pixels.
#import <MPSNeuralNetwork/MPSNNReductionNodes.h>

#import "mpsnn/nodes/made_by.h"
#import "mpsnn/structure_kernels.h"

using emulator::mpsnn::Clip;
using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;
using emulator::mpsnn::Reduce;
using emulator::mpsnn::ReducedAxis;
using emulator::mpsnn::ReduceOp;

// To override.
@interface MPSNNUnaryReductionNode ()
- (Reduce)reduce;
@end

@implementation MPSNNUnaryReductionNode
@synthesize clipRectSource = _clipRectSource;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode {
  return [[[self alloc] initWithSource:sourceNode] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  self = [super initWithSources:only(sourceNode) states:nil];
  _clipRectSource = MPSRectNoClip;
  return self;
}
- (Reduce)reduce {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  const auto limited = [](NSUInteger value) {
    return static_cast<std::int64_t>(MIN(value, NSUInteger(INT32_MAX)));
  };
  const Clip clip{limited(_clipRectSource.origin.x),
                  limited(_clipRectSource.origin.y),
                  limited(_clipRectSource.size.width),
                  limited(_clipRectSource.size.height)};
  return emulator::mpsnn::reduce_kernel(object_getClassName(self),
                                        [self reduce], clip);
}
@end

@implementation MPSNNReductionRowMinNode
- (Reduce)reduce {
  return {ReducedAxis::kRow, ReduceOp::kMin, 1};
}
@end

@implementation MPSNNReductionColumnMinNode
- (Reduce)reduce {
  return {ReducedAxis::kColumn, ReduceOp::kMin, 1};
}
@end

@implementation MPSNNReductionFeatureChannelsMinNode
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kMin, 1};
}
@end

@implementation MPSNNReductionRowMaxNode
- (Reduce)reduce {
  return {ReducedAxis::kRow, ReduceOp::kMax, 1};
}
@end

@implementation MPSNNReductionColumnMaxNode
- (Reduce)reduce {
  return {ReducedAxis::kColumn, ReduceOp::kMax, 1};
}
@end

@implementation MPSNNReductionFeatureChannelsMaxNode
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kMax, 1};
}
@end

@implementation MPSNNReductionRowMeanNode
- (Reduce)reduce {
  return {ReducedAxis::kRow, ReduceOp::kMean, 1};
}
@end

@implementation MPSNNReductionColumnMeanNode
- (Reduce)reduce {
  return {ReducedAxis::kColumn, ReduceOp::kMean, 1};
}
@end

@implementation MPSNNReductionFeatureChannelsMeanNode
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kMean, 1};
}
@end

@implementation MPSNNReductionRowSumNode
- (Reduce)reduce {
  return {ReducedAxis::kRow, ReduceOp::kSum, 1};
}
@end

@implementation MPSNNReductionColumnSumNode
- (Reduce)reduce {
  return {ReducedAxis::kColumn, ReduceOp::kSum, 1};
}
@end

@implementation MPSNNReductionFeatureChannelsSumNode
@synthesize weight = _weight;

- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  self = [super initWithSource:sourceNode];
  _weight = 1;
  return self;
}
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kSum, _weight};
}
@end

@implementation MPSNNReductionFeatureChannelsArgumentMinNode
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kArgumentMin, 1};
}
@end

@implementation MPSNNReductionFeatureChannelsArgumentMaxNode
- (Reduce)reduce {
  return {ReducedAxis::kChannels, ReduceOp::kArgumentMax, 1};
}
@end

@implementation MPSNNReductionSpatialMeanNode
- (Reduce)reduce {
  return {ReducedAxis::kPixels, ReduceOp::kMean, 1};
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:
          [MPSNNReductionSpatialMeanGradientNode
              nodeWithSourceGradient:gradient
                         sourceImage:[self sourceImage]
                       gradientState:emulator::mpsnn::gradient_state_of(self)]];
}
@end

@implementation MPSNNReductionSpatialMeanGradientNode
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
  return emulator::mpsnn::spatial_mean_gradient_kernel(
      "MPSNNReductionSpatialMeanGradientNode");
}
@end
