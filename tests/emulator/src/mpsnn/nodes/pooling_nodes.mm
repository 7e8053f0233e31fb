// SPDX-License-Identifier: MIT
// MPSCNNPoolingNode, its subclasses and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNPoolingNodes.h>

#import "mpsnn/nodes/made_by.h"
#include "mpsnn/pooling_kernels.h"

using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;
using emulator::mpsnn::PoolType;
using emulator::mpsnn::Window;

// To override.
@interface MPSCNNPoolingNode ()
- (PoolType)poolType;
- (Class)gradientNodeClass;
@end
@interface MPSCNNPoolingGradientNode ()
- (PoolType)poolType;
- (Window)window;
@end

@implementation MPSCNNPoolingNode
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;
@synthesize strideInPixelsX = _strideInPixelsX;
@synthesize strideInPixelsY = _strideInPixelsY;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size {
  return [[[self alloc] initWithSource:source filterSize:size] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride {
  return [[[self alloc] initWithSource:source filterSize:size
                                stride:stride] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size {
  return [self initWithSource:source filterSize:size stride:size];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride {
  return [self initWithSource:source
                  kernelWidth:size
                 kernelHeight:size
              strideInPixelsX:stride
              strideInPixelsY:stride];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                   kernelWidth:(NSUInteger)kernelWidth
                  kernelHeight:(NSUInteger)kernelHeight
               strideInPixelsX:(NSUInteger)strideInPixelsX
               strideInPixelsY:(NSUInteger)strideInPixelsY {
  self = [super initWithSources:only(source) states:nil];
  _kernelWidth = kernelWidth;
  _kernelHeight = kernelHeight;
  _strideInPixelsX = strideInPixelsX;
  _strideInPixelsY = strideInPixelsY;
  return self;
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  Window window;
  window.kernel_width = _kernelWidth;
  window.kernel_height = _kernelHeight;
  window.stride_x = _strideInPixelsX;
  window.stride_y = _strideInPixelsY;
  return emulator::mpsnn::pooling_kernel(object_getClassName(self),
                                         [self poolType], window);
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:
          [[self gradientNodeClass]
              nodeWithSourceGradient:gradient
                         sourceImage:[self sourceImage]
                       gradientState:emulator::mpsnn::gradient_state_of(self)
                         kernelWidth:_kernelWidth
                        kernelHeight:_kernelHeight
                     strideInPixelsX:_strideInPixelsX
                     strideInPixelsY:_strideInPixelsY
                       paddingPolicy:[self paddingPolicy]]];
}

- (PoolType)poolType {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
- (Class)gradientNodeClass {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
@end

@implementation MPSCNNPoolingAverageNode
- (PoolType)poolType {
  return PoolType::kAverage;
}
- (Class)gradientNodeClass {
  return [MPSCNNPoolingAverageGradientNode class];
}
@end

@implementation MPSCNNPoolingL2NormNode
- (PoolType)poolType {
  return PoolType::kL2Norm;
}
- (Class)gradientNodeClass {
  return [MPSCNNPoolingL2NormGradientNode class];
}
@end

@implementation MPSCNNPoolingMaxNode
- (PoolType)poolType {
  return PoolType::kMax;
}
- (Class)gradientNodeClass {
  return [MPSCNNPoolingMaxGradientNode class];
}
@end

@implementation MPSCNNDilatedPoolingMaxNode
@synthesize dilationRateX = _dilationRateX;
@synthesize dilationRateY = _dilationRateY;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size {
  return [[[self alloc] initWithSource:source filterSize:size] autorelease];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride
                  dilationRate:(NSUInteger)dilationRate {
  return [[[self alloc] initWithSource:source
                            filterSize:size
                                stride:stride
                          dilationRate:dilationRate] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size {
  return [self initWithSource:source
                   filterSize:size
                       stride:size
                 dilationRate:size];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                    filterSize:(NSUInteger)size
                        stride:(NSUInteger)stride
                  dilationRate:(NSUInteger)dilationRate {
  return [self initWithSource:source
                  kernelWidth:size
                 kernelHeight:size
              strideInPixelsX:stride
              strideInPixelsY:stride
                dilationRateX:dilationRate
                dilationRateY:dilationRate];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                   kernelWidth:(NSUInteger)kernelWidth
                  kernelHeight:(NSUInteger)kernelHeight
               strideInPixelsX:(NSUInteger)strideInPixelsX
               strideInPixelsY:(NSUInteger)strideInPixelsY
                 dilationRateX:(NSUInteger)dilationRateX
                 dilationRateY:(NSUInteger)dilationRateY {
  self = [super initWithSources:only(source) states:nil];
  _kernelWidth = kernelWidth;
  _kernelHeight = kernelHeight;
  _strideInPixelsX = strideInPixelsX;
  _strideInPixelsY = strideInPixelsY;
  _dilationRateX = dilationRateX;
  _dilationRateY = dilationRateY;
  return self;
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  Window window;
  window.kernel_width = _kernelWidth;
  window.kernel_height = _kernelHeight;
  window.stride_x = _strideInPixelsX;
  window.stride_y = _strideInPixelsY;
  window.dilation_x = _dilationRateX;
  window.dilation_y = _dilationRateY;
  return emulator::mpsnn::pooling_kernel(object_getClassName(self),
                                         PoolType::kMax, window);
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  MPSNNGradientFilterNode* made = [MPSCNNDilatedPoolingMaxGradientNode
      nodeWithSourceGradient:gradient
                 sourceImage:[self sourceImage]
               gradientState:emulator::mpsnn::gradient_state_of(self)
                 kernelWidth:_kernelWidth
                kernelHeight:_kernelHeight
             strideInPixelsX:_strideInPixelsX
             strideInPixelsY:_strideInPixelsY
               dilationRateX:_dilationRateX
               dilationRateY:_dilationRateY];
  [made setPaddingPolicy:[self paddingPolicy]];
  return [NSArray arrayWithObject:made];
}
@end

@implementation MPSCNNPoolingGradientNode
@synthesize kernelWidth = _kernelWidth;
@synthesize kernelHeight = _kernelHeight;
@synthesize strideInPixelsX = _strideInPixelsX;
@synthesize strideInPixelsY = _strideInPixelsY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         paddingPolicy:(id<MPSNNPadding>)policy {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:source
                                 gradientState:state
                                   kernelWidth:kernelWidth
                                  kernelHeight:kernelHeight
                               strideInPixelsX:strideInPixelsX
                               strideInPixelsY:strideInPixelsY
                                 paddingPolicy:policy] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         paddingPolicy:(id<MPSNNPadding>)policy {
  self = [super initWithSourceGradient:gradient sourceImage:source state:state];
  _kernelWidth = kernelWidth;
  _kernelHeight = kernelHeight;
  _strideInPixelsX = strideInPixelsX;
  _strideInPixelsY = strideInPixelsY;
  // Nothing asks it: the windows are where the state says.
  if (policy) [self setPaddingPolicy:policy];
  return self;
}

- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::pooling_gradient_kernel(
      object_getClassName(self), [self poolType], [self window]);
}

- (Window)window {
  Window window;
  window.kernel_width = _kernelWidth;
  window.kernel_height = _kernelHeight;
  window.stride_x = _strideInPixelsX;
  window.stride_y = _strideInPixelsY;
  return window;
}

- (PoolType)poolType {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
@end

@implementation MPSCNNPoolingAverageGradientNode
- (PoolType)poolType {
  return PoolType::kAverage;
}
@end

@implementation MPSCNNPoolingL2NormGradientNode
- (PoolType)poolType {
  return PoolType::kL2Norm;
}
@end

@implementation MPSCNNPoolingMaxGradientNode
- (PoolType)poolType {
  return PoolType::kMax;
}
@end

@implementation MPSCNNDilatedPoolingMaxGradientNode
@synthesize dilationRateX = _dilationRateX;
@synthesize dilationRateY = _dilationRateY;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         dilationRateX:(NSUInteger)dilationRateX
                         dilationRateY:(NSUInteger)dilationRateY {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:source
                                 gradientState:state
                                   kernelWidth:kernelWidth
                                  kernelHeight:kernelHeight
                               strideInPixelsX:strideInPixelsX
                               strideInPixelsY:strideInPixelsY
                                 dilationRateX:dilationRateX
                                 dilationRateY:dilationRateY] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                           kernelWidth:(NSUInteger)kernelWidth
                          kernelHeight:(NSUInteger)kernelHeight
                       strideInPixelsX:(NSUInteger)strideInPixelsX
                       strideInPixelsY:(NSUInteger)strideInPixelsY
                         dilationRateX:(NSUInteger)dilationRateX
                         dilationRateY:(NSUInteger)dilationRateY {
  self = [super initWithSourceGradient:gradient
                           sourceImage:source
                         gradientState:state
                           kernelWidth:kernelWidth
                          kernelHeight:kernelHeight
                       strideInPixelsX:strideInPixelsX
                       strideInPixelsY:strideInPixelsY
                         paddingPolicy:nil];
  _dilationRateX = dilationRateX;
  _dilationRateY = dilationRateY;
  return self;
}

- (PoolType)poolType {
  return PoolType::kMax;
}

- (Window)window {
  Window window = [super window];
  window.dilation_x = _dilationRateX;
  window.dilation_y = _dilationRateY;
  return window;
}
@end
