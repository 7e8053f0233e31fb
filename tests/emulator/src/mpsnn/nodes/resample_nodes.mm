// SPDX-License-Identifier: MIT
// Upsampling and scaling nodes.
#import <MPSNeuralNetwork/MPSNNResampleNodes.h>

#import "mpsnn/nodes/made_by.h"
#import "mpsnn/resample_kernels.h"

using emulator::refuse;
using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::gradient_state_of;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;
using emulator::mpsnn::Upsampling;

@implementation MPSCNNUpsamplingNearestNode
@synthesize scaleFactorX = _scaleFactorX;
@synthesize scaleFactorY = _scaleFactorY;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY {
  return [[[self alloc] initWithSource:sourceNode
                   integerScaleFactorX:integerScaleFactorX
                   integerScaleFactorY:integerScaleFactorY] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY {
  self = [super initWithSources:only(sourceNode) states:nil];
  _scaleFactorX = integerScaleFactorX;
  _scaleFactorY = integerScaleFactorY;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::upsampling_kernel(
      "MPSCNNUpsamplingNearestNode",
      {_scaleFactorX, _scaleFactorY, /*is_linear=*/false,
       /*aligns_corners=*/false});
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSCNNUpsamplingNearestGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)
                                    scaleFactorX:_scaleFactorX
                                    scaleFactorY:_scaleFactorY]];
}
@end

@implementation MPSCNNUpsamplingNearestGradientNode
@synthesize scaleFactorX = _scaleFactorX;
@synthesize scaleFactorY = _scaleFactorY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                  scaleFactorX:scaleFactorX
                                  scaleFactorY:scaleFactorY] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _scaleFactorX = scaleFactorX;
  _scaleFactorY = scaleFactorY;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::upsampling_gradient_kernel(
      "MPSCNNUpsamplingNearestGradientNode", _scaleFactorX, _scaleFactorY);
}
@end

@implementation MPSCNNUpsamplingBilinearNode
@synthesize scaleFactorX = _scaleFactorX;
@synthesize scaleFactorY = _scaleFactorY;
@synthesize alignCorners = _alignCorners;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY {
  return [[[self alloc] initWithSource:sourceNode
                   integerScaleFactorX:integerScaleFactorX
                   integerScaleFactorY:integerScaleFactorY] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY
                  alignCorners:(BOOL)alignCorners {
  return [[[self alloc] initWithSource:sourceNode
                   integerScaleFactorX:integerScaleFactorX
                   integerScaleFactorY:integerScaleFactorY
                          alignCorners:alignCorners] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY {
  return [self initWithSource:sourceNode
          integerScaleFactorX:integerScaleFactorX
          integerScaleFactorY:integerScaleFactorY
                 alignCorners:NO];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
           integerScaleFactorX:(NSUInteger)integerScaleFactorX
           integerScaleFactorY:(NSUInteger)integerScaleFactorY
                  alignCorners:(BOOL)alignCorners {
  self = [super initWithSources:only(sourceNode) states:nil];
  _scaleFactorX = integerScaleFactorX;
  _scaleFactorY = integerScaleFactorY;
  _alignCorners = alignCorners;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::upsampling_kernel(
      "MPSCNNUpsamplingBilinearNode",
      {_scaleFactorX, _scaleFactorY, /*is_linear=*/true, bool(_alignCorners)});
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSCNNUpsamplingBilinearGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)
                                    scaleFactorX:_scaleFactorX
                                    scaleFactorY:_scaleFactorY]];
}
@end

@implementation MPSCNNUpsamplingBilinearGradientNode
@synthesize scaleFactorX = _scaleFactorX;
@synthesize scaleFactorY = _scaleFactorY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState
                                  scaleFactorX:scaleFactorX
                                  scaleFactorY:scaleFactorY] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                          scaleFactorX:(double)scaleFactorX
                          scaleFactorY:(double)scaleFactorY {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  _scaleFactorX = scaleFactorX;
  _scaleFactorY = scaleFactorY;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::upsampling_gradient_kernel(
      "MPSCNNUpsamplingBilinearGradientNode", _scaleFactorX, _scaleFactorY);
}
@end

@implementation MPSNNScaleNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    outputSize:(MTLSize)size {
  return [[[self alloc] initWithSource:sourceNode outputSize:size] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
             transformProvider:(id<MPSImageTransformProvider>)transformProvider
                    outputSize:(MTLSize)size {
  return [[[self alloc] initWithSource:sourceNode
                     transformProvider:transformProvider
                            outputSize:size] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                    outputSize:(MTLSize)size {
  return [self initWithSource:sourceNode transformProvider:nil outputSize:size];
}
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
             transformProvider:(id<MPSImageTransformProvider>)transformProvider
                    outputSize:(MTLSize)size {
  self = [super initWithSources:only(sourceNode) states:nil];
  _size = size;
  _provider = [(id)transformProvider retain];
  return self;
}
- (void)dealloc {
  [(id)_provider release];
  [super dealloc];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  refuse(object_getClassName(self), @"is an abstract class");
}
@end

@implementation MPSNNBilinearScaleNode
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::scale_kernel("MPSNNBilinearScaleNode", _size,
                                       _provider, [[self sourceImage] handle]);
}
@end
