// SPDX-License-Identifier: MIT
// MPSNNUnaryReductionNode, its subclasses and the gradient of the mean of all
// pixels.
#import <MPSNeuralNetwork/MPSNNReductionNodes.h>

#import "mpsnn/nodes/node_class.h"
#import "mpsnn/structure_kernels.h"

using emulator::mpsnn::Clip;
using emulator::mpsnn::Reduce;
using emulator::mpsnn::ReducedAxis;
using emulator::mpsnn::ReduceOp;

// To override.
@interface MPSNNUnaryReductionNode ()
- (Reduce)reduce;
@end

@implementation MPSNNUnaryReductionNode
@synthesize clipRectSource = _clipRectSource;

NODE() {
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  _clipRectSource = MPSRectNoClip;
  return self;
}
- (Reduce)reduce {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
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

// clang-format off
#define REDUCTION(AXIS, OPERATION) \
  @implementation MPSNNReduction##AXIS##OPERATION##Node \
  - (Reduce)reduce { \
    return {ReducedAxis::k##AXIS, ReduceOp::k##OPERATION, 1}; \
  } \
  @end
// clang-format on
EMULATED_REDUCTIONS(REDUCTION)

@implementation MPSNNReductionFeatureChannelsSumNode
@synthesize weight = _weight;

- (instancetype)initWithSource:(MPSNNImageNode*)source {
  self = [super initWithSource:source];
  _weight = 1;
  return self;
}
- (Reduce)reduce {
  return {ReducedAxis::kFeatureChannels, ReduceOp::kSum, _weight};
}
@end

@implementation MPSNNReductionSpatialMeanNode
- (Reduce)reduce {
  return {ReducedAxis::kSpatial, ReduceOp::kMean, 1};
}
GRADIENT(MPSNNReductionSpatialMeanGradientNode)
@end

@implementation MPSNNReductionSpatialMeanGradientNode
KEEPING_GRADIENT_NODE()
KERNEL(emulator::mpsnn::spatial_mean_gradient_kernel(object_getClassName(self)))
@end
