// SPDX-License-Identifier: MIT
// Upsampling and scaling nodes.
#import <MPSNeuralNetwork/MPSNNResampleNodes.h>

#import "mpsnn/nodes/node_class.h"
#import "mpsnn/resample_kernels.h"

#define UPSAMPLING_GRADIENT(CLASS)                                        \
  @implementation CLASS                                                   \
  @synthesize scaleFactorX = _scaleFactorX, scaleFactorY = _scaleFactorY; \
  KEEPING_GRADIENT_NODE((double, scaleFactorX), (double, scaleFactorY))   \
  KERNEL(emulator::mpsnn::upsampling_gradient_kernel(                     \
      object_getClassName(self), _scaleFactorX, _scaleFactorY))           \
  @end

@implementation MPSCNNUpsamplingNearestNode
@synthesize scaleFactorX = _scaleFactorX, scaleFactorY = _scaleFactorY;

NODE(EMULATED_UPSAMPLING_FACTORS) {
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  _scaleFactorX = integerScaleFactorX;
  _scaleFactorY = integerScaleFactorY;
  return self;
}
KERNEL(emulator::mpsnn::upsampling_kernel(object_getClassName(self),
                                          {_scaleFactorX, _scaleFactorY,
                                           /*is_linear=*/false,
                                           /*aligns_corners=*/false}))
GRADIENT(MPSCNNUpsamplingNearestGradientNode,
         scaleFactorX : _scaleFactorX scaleFactorY : _scaleFactorY)
@end
UPSAMPLING_GRADIENT(MPSCNNUpsamplingNearestGradientNode)

@implementation MPSCNNUpsamplingBilinearNode
@synthesize scaleFactorX = _scaleFactorX, scaleFactorY = _scaleFactorY;
@synthesize alignCorners = _alignCorners;

NODE(EMULATED_UPSAMPLING_FACTORS) {
  return [self initWithSource:source
          integerScaleFactorX:integerScaleFactorX
          integerScaleFactorY:integerScaleFactorY
                 alignCorners:NO];
}
NODE(EMULATED_UPSAMPLING_FACTORS, (BOOL, alignCorners)) {
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  _scaleFactorX = integerScaleFactorX;
  _scaleFactorY = integerScaleFactorY;
  _alignCorners = alignCorners;
  return self;
}
KERNEL(emulator::mpsnn::upsampling_kernel(object_getClassName(self),
                                          {_scaleFactorX, _scaleFactorY,
                                           /*is_linear=*/true,
                                           bool(_alignCorners)}))
GRADIENT(MPSCNNUpsamplingBilinearGradientNode,
         scaleFactorX : _scaleFactorX scaleFactorY : _scaleFactorY)
@end
UPSAMPLING_GRADIENT(MPSCNNUpsamplingBilinearGradientNode)

@implementation MPSNNScaleNode
NODE((MTLSize, outputSize)) {
  return [self initWithSource:source
            transformProvider:nil
                   outputSize:outputSize];
}
NODE((id<MPSImageTransformProvider>, transformProvider),
     (MTLSize, outputSize)) {
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  _size = outputSize;
  _provider = [(id)transformProvider retain];
  return self;
}
- (void)dealloc {
  [(id)_provider release];
  [super dealloc];
}
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  emulator::refuse(object_getClassName(self), @"is an abstract class");
}
@end

@implementation MPSNNBilinearScaleNode
KERNEL(emulator::mpsnn::scale_kernel(object_getClassName(self), _size,
                                     _provider, [[self sourceImage] handle]))
@end
