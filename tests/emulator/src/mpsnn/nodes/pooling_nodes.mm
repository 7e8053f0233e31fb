// SPDX-License-Identifier: MIT
// MPSCNNPoolingNode, its subclasses and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNPoolingNodes.h>

#import "mpsnn/nodes/node_class.h"
#include "mpsnn/pooling_kernels.h"

using emulator::mpsnn::PoolType;
using emulator::mpsnn::Window;

// To override.
@interface MPSCNNPoolingNode ()
- (PoolType)poolType;
- (Window)window;
- (Class)gradientNodeClass;
@end
@interface MPSCNNPoolingGradientNode ()
- (PoolType)poolType;
- (Window)window;
@end

@implementation MPSCNNPoolingNode
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight,
            strideInPixelsX = _strideInPixelsX,
            strideInPixelsY = _strideInPixelsY;

NODE((NSUInteger, filterSize)) {
  return [self initWithSource:source filterSize:filterSize stride:filterSize];
}
NODE((NSUInteger, filterSize), (NSUInteger, stride)) {
  return [self initWithSource:source
                  kernelWidth:filterSize
                 kernelHeight:filterSize
              strideInPixelsX:stride
              strideInPixelsY:stride];
}
-EMULATED_FROM_SOURCE(init, EMULATED_POOLING_WINDOW)
KEEPING(EMULATED_POOLING_WINDOW)

KERNEL(emulator::mpsnn::pooling_kernel(object_getClassName(self),
                                       [self poolType], [self window]))
GRADIENT([self gradientNodeClass],
         kernelWidth:_kernelWidth kernelHeight:_kernelHeight
         strideInPixelsX:_strideInPixelsX strideInPixelsY:_strideInPixelsY
         paddingPolicy:[self paddingPolicy])

- (Window)window {
  return {std::int64_t(_kernelWidth), std::int64_t(_kernelHeight),
          std::int64_t(_strideInPixelsX), std::int64_t(_strideInPixelsY)};
}
- (PoolType)poolType {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
- (Class)gradientNodeClass {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
@end

@implementation MPSCNNDilatedPoolingMaxNode
@synthesize dilationRateX = _dilationRateX, dilationRateY = _dilationRateY;

NODE((NSUInteger, filterSize)) {
  return [self initWithSource:source
                   filterSize:filterSize
                       stride:filterSize
                 dilationRate:filterSize];
}
NODE((NSUInteger, filterSize), (NSUInteger, stride),
     (NSUInteger, dilationRate)) {
  return [self initWithSource:source
                  kernelWidth:filterSize
                 kernelHeight:filterSize
              strideInPixelsX:stride
              strideInPixelsY:stride
                dilationRateX:dilationRate
                dilationRateY:dilationRate];
}
-EMULATED_FROM_SOURCE(init, EMULATED_DILATED_WINDOW)
KEEPING(EMULATED_DILATED_WINDOW)

KERNEL(emulator::mpsnn::pooling_kernel(object_getClassName(self),
                                       PoolType::kMax, [self window]))

- (Window)window {
  return {std::int64_t(_kernelWidth),     std::int64_t(_kernelHeight),
          std::int64_t(_strideInPixelsX), std::int64_t(_strideInPixelsY),
          std::int64_t(_dilationRateX),   std::int64_t(_dilationRateY)};
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
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight,
            strideInPixelsX = _strideInPixelsX,
            strideInPixelsY = _strideInPixelsY;

GRADIENT_NODE(EMULATED_POOLING_WINDOW, (id<MPSNNPadding>, paddingPolicy)) {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  EMULATED_EACH(EMULATED_KEEP, EMULATED_POOLING_WINDOW)
  // Nothing asks it: the windows are where the state says.
  if (paddingPolicy) [self setPaddingPolicy:paddingPolicy];
  return self;
}

KERNEL(emulator::mpsnn::pooling_gradient_kernel(object_getClassName(self),
                                                [self poolType], [self window]))

- (Window)window {
  return {std::int64_t(_kernelWidth), std::int64_t(_kernelHeight),
          std::int64_t(_strideInPixelsX), std::int64_t(_strideInPixelsY)};
}
- (PoolType)poolType {
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
@end

// clang-format off
#define POOLING(TYPE) \
  @implementation MPSCNNPooling##TYPE##Node \
  - (PoolType)poolType { return PoolType::k##TYPE; } \
  - (Class)gradientNodeClass { \
    return [MPSCNNPooling##TYPE##GradientNode class]; \
  } \
  @end \
  @implementation MPSCNNPooling##TYPE##GradientNode \
  - (PoolType)poolType { return PoolType::k##TYPE; } \
  @end
// clang-format on
POOLING(Average)
POOLING(L2Norm)
POOLING(Max)

@implementation MPSCNNDilatedPoolingMaxGradientNode
@synthesize dilationRateX = _dilationRateX, dilationRateY = _dilationRateY;

GRADIENT_NODE(EMULATED_DILATED_WINDOW) {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                         gradientState:gradientState
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
