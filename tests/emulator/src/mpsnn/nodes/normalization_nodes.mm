// SPDX-License-Identifier: MIT
// MPSCNNNormalizationNode, its subclasses and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNNormalizationNodes.h>

#include "mpsnn/local_normalization_kernels.h"
#import "mpsnn/nodes/node_class.h"

using emulator::mpsnn::gradient_state_of;
using emulator::mpsnn::LocalNormalization;
using emulator::mpsnn::LocalNormalizationType;
using emulator::mpsnn::only;

@interface MPSCNNNormalizationNode ()
- (LocalNormalization)normalization;
@end

@implementation MPSCNNNormalizationNode
@synthesize alpha = _alpha, beta = _beta, delta = _delta;

NODE() {
  self = [super initWithSources:only(source) states:nil];
  _alpha = 1;
  _beta = 5;
  _delta = 1;
  return self;
}
- (LocalNormalization)normalization {
  return {.alpha = _alpha, .beta = _beta, .delta = _delta};
}
@end

/// The default size is that of the cross-channel node: the others' are not
/// documented.
#define DEFAULT_SIZE                                  \
  -EMULATED_FROM_SOURCE(init) {                       \
    return [self initWithSource:source kernelSize:5]; \
  }
#define LOCAL_KERNEL(TYPE)                                        \
  KERNEL(emulator::mpsnn::local_normalization_kernel(             \
      object_getClassName(self), LocalNormalizationType::k##TYPE, \
      [self normalization]))
#define LOCAL_GRADIENT_KERNEL(TYPE, ...)                          \
  KERNEL(emulator::mpsnn::local_normalization_gradient_kernel(    \
      object_getClassName(self), LocalNormalizationType::k##TYPE, \
      LocalNormalization{__VA_ARGS__}))

@implementation MPSCNNSpatialNormalizationNode
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight;

DEFAULT_SIZE
NODE((NSUInteger, kernelSize)) {
  self = [super initWithSource:source];
  _kernelWidth = _kernelHeight = kernelSize;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n = [super normalization];
  n.kernel_width = _kernelWidth;
  n.kernel_height = _kernelHeight;
  return n;
}
LOCAL_KERNEL(Spatial)
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  MPSCNNSpatialNormalizationGradientNode* node =
      [MPSCNNSpatialNormalizationGradientNode
          nodeWithSourceGradient:gradient
                     sourceImage:[self sourceImage]
                   gradientState:gradient_state_of(self)
                      kernelSize:_kernelWidth];
  [node setKernelHeight:_kernelHeight];
  [node setAlpha:_alpha];
  [node setBeta:_beta];
  [node setDelta:_delta];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNSpatialNormalizationGradientNode
@synthesize alpha = _alpha, beta = _beta, delta = _delta;
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight;

GRADIENT_NODE((NSUInteger, kernelSize)) {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _kernelWidth = _kernelHeight = kernelSize;
  _alpha = 1;
  _beta = 5;
  _delta = 1;
  return self;
}
LOCAL_GRADIENT_KERNEL(Spatial, .alpha = _alpha, .beta = _beta, .delta = _delta,
                      .kernel_width = std::int64_t(_kernelWidth),
                      .kernel_height = std::int64_t(_kernelHeight))
@end

@implementation MPSCNNLocalContrastNormalizationNode
@synthesize pm = _pm, ps = _ps, p0 = _p0;
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight;

DEFAULT_SIZE
NODE((NSUInteger, kernelSize)) {
  self = [super initWithSource:source];
  _beta = 0.5f;
  _delta = 1.0f / 1024;
  _ps = _p0 = 1;
  _kernelWidth = _kernelHeight = kernelSize;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n = [super normalization];
  n.pm = _pm;
  n.ps = _ps;
  n.p0 = _p0;
  n.kernel_width = _kernelWidth;
  n.kernel_height = _kernelHeight;
  return n;
}
LOCAL_KERNEL(LocalContrast)
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  MPSCNNLocalContrastNormalizationGradientNode* node =
      [MPSCNNLocalContrastNormalizationGradientNode
          nodeWithSourceGradient:gradient
                     sourceImage:[self sourceImage]
                   gradientState:gradient_state_of(self)
                     kernelWidth:_kernelWidth
                    kernelHeight:_kernelHeight];
  [node setAlpha:_alpha];
  [node setBeta:_beta];
  [node setDelta:_delta];
  [node setPm:_pm];
  [node setPs:_ps];
  [node setP0:_p0];
  return [NSArray arrayWithObject:node];
}
@end

@implementation MPSCNNLocalContrastNormalizationGradientNode
@synthesize alpha = _alpha, beta = _beta, delta = _delta;
@synthesize pm = _pm, ps = _ps, p0 = _p0;
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight;

GRADIENT_NODE((NSUInteger, kernelWidth), (NSUInteger, kernelHeight)) {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _kernelWidth = kernelWidth;
  _kernelHeight = kernelHeight;
  _beta = 0.5f;
  _delta = 1.0f / 1024;
  _ps = _p0 = 1;
  return self;
}
LOCAL_GRADIENT_KERNEL(LocalContrast, .alpha = _alpha, .beta = _beta,
                      .delta = _delta, .p0 = _p0, .pm = _pm, .ps = _ps,
                      .kernel_width = std::int64_t(_kernelWidth),
                      .kernel_height = std::int64_t(_kernelHeight))
@end

@implementation MPSCNNCrossChannelNormalizationNode
@synthesize kernelSizeInFeatureChannels = _kernelSizeInFeatureChannels;

DEFAULT_SIZE
NODE((NSUInteger, kernelSize)) {
  self = [super initWithSource:source];
  _kernelSizeInFeatureChannels = kernelSize;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n = [super normalization];
  n.kernel_channels = _kernelSizeInFeatureChannels;
  return n;
}
LOCAL_KERNEL(CrossChannel)
GRADIENT(MPSCNNCrossChannelNormalizationGradientNode,
         kernelSize : _kernelSizeInFeatureChannels)
@end

@implementation MPSCNNCrossChannelNormalizationGradientNode
@synthesize kernelSize = _kernelSize;

KEEPING_GRADIENT_NODE((NSUInteger, kernelSize))
LOCAL_GRADIENT_KERNEL(CrossChannel,
                      .kernel_channels = std::int64_t(_kernelSize))
@end
