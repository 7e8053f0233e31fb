// SPDX-License-Identifier: MIT
// MPSCNNNormalizationNode, its subclasses and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNNormalizationNodes.h>

#include "mpsnn/local_normalization_kernels.h"
#import "mpsnn/nodes/made_by.h"

using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::gradient_state_of;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::LocalNormalization;
using emulator::mpsnn::LocalNormalizationType;
using emulator::mpsnn::only;

@interface MPSCNNNormalizationNode ()
- (LocalNormalization)normalization;
@end

@implementation MPSCNNNormalizationNode
@synthesize alpha = _alpha;
@synthesize beta = _beta;
@synthesize delta = _delta;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode {
  return [[[self alloc] initWithSource:sourceNode] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  self = [super initWithSources:only(sourceNode) states:nil];
  _alpha = 1;
  _beta = 5;
  _delta = 1;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n;
  n.alpha = _alpha;
  n.beta = _beta;
  n.delta = _delta;
  return n;
}
@end

@implementation MPSCNNSpatialNormalizationNode
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  return [[[self alloc] initWithSource:sourceNode
                            kernelSize:kernelSize] autorelease];
}
/// The default size is that of the cross-channel node: it is not documented.
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [self initWithSource:sourceNode kernelSize:5];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  self = [super initWithSource:sourceNode];
  _kernelWidth = _kernelHeight = kernelSize;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n = [super normalization];
  n.kernel_width = _kernelWidth;
  n.kernel_height = _kernelHeight;
  return n;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::local_normalization_kernel(
      "MPSCNNSpatialNormalizationNode", LocalNormalizationType::kSpatial,
      [self normalization]);
}
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
@synthesize alpha = _alpha;
@synthesize beta = _beta;
@synthesize delta = _delta;
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                    kernelSize:kernelSize] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _kernelWidth = _kernelHeight = kernelSize;
  _alpha = 1;
  _beta = 5;
  _delta = 1;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  LocalNormalization n;
  n.alpha = _alpha;
  n.beta = _beta;
  n.delta = _delta;
  n.kernel_width = _kernelWidth;
  n.kernel_height = _kernelHeight;
  return emulator::mpsnn::local_normalization_gradient_kernel(
      "MPSCNNSpatialNormalizationGradientNode",
      LocalNormalizationType::kSpatial, n);
}
@end

@implementation MPSCNNLocalContrastNormalizationNode
@synthesize pm = _pm;
@synthesize ps = _ps;
@synthesize p0 = _p0;
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  return [[[self alloc] initWithSource:sourceNode
                            kernelSize:kernelSize] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [self initWithSource:sourceNode kernelSize:5];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  self = [super initWithSource:sourceNode];
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
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::local_normalization_kernel(
      "MPSCNNLocalContrastNormalizationNode",
      LocalNormalizationType::kLocalContrast, [self normalization]);
}
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
@synthesize alpha = _alpha;
@synthesize beta = _beta;
@synthesize delta = _delta;
@synthesize pm = _pm;
@synthesize ps = _ps;
@synthesize p0 = _p0;
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                   kernelWidth:kernelWidth
                                  kernelHeight:kernelHeight] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight {
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
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  LocalNormalization n;
  n.alpha = _alpha;
  n.beta = _beta;
  n.delta = _delta;
  n.pm = _pm;
  n.ps = _ps;
  n.p0 = _p0;
  n.kernel_width = _kernelWidth;
  n.kernel_height = _kernelHeight;
  return emulator::mpsnn::local_normalization_gradient_kernel(
      "MPSCNNLocalContrastNormalizationGradientNode",
      LocalNormalizationType::kLocalContrast, n);
}
@end

@implementation MPSCNNCrossChannelNormalizationNode
@synthesize kernelSizeInFeatureChannels = _kernelSizeInFeatureChannels;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  return [[[self alloc] initWithSource:sourceNode
                            kernelSize:kernelSize] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode {
  return [self initWithSource:sourceNode kernelSize:5];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    kernelSize:(NSUInteger)kernelSize {
  self = [super initWithSource:sourceNode];
  _kernelSizeInFeatureChannels = kernelSize;
  return self;
}
- (LocalNormalization)normalization {
  LocalNormalization n = [super normalization];
  n.kernel_channels = _kernelSizeInFeatureChannels;
  return n;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::local_normalization_kernel(
      "MPSCNNCrossChannelNormalizationNode",
      LocalNormalizationType::kCrossChannel, [self normalization]);
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSCNNCrossChannelNormalizationGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)
                                      kernelSize:_kernelSizeInFeatureChannels]];
}
@end

@implementation MPSCNNCrossChannelNormalizationGradientNode
@synthesize kernelSize = _kernelSize;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                    kernelSize:kernelSize] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            kernelSize:(NSUInteger)kernelSize {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _kernelSize = kernelSize;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  LocalNormalization n;
  n.kernel_channels = _kernelSize;
  return emulator::mpsnn::local_normalization_gradient_kernel(
      "MPSCNNCrossChannelNormalizationGradientNode",
      LocalNormalizationType::kCrossChannel, n);
}
@end
