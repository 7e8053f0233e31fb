// SPDX-License-Identifier: MIT
// States, descriptors and kernels that data sources of convolutions see.
#import "convolution_states.h"

#include <cstring>

#import "cnn_kernel.h"
#include "faults.h"
#import "states.h"

using emulator::refuse;
using emulator::mpsnn::ConvolutionState;

namespace emulator::mpsnn {

id<MTLBuffer> make_state_buffer(id<MTLDevice> device, std::size_t count,
                                bool is_temporary) {
  MTLResourceOptions options = MTLResourceStorageModeShared;
  if (is_temporary) {
    options = MTLResourceStorageModePrivate;
  } else if (!has_unified_memory()) {
    options = MTLResourceStorageModeManaged;
  }
  id<MTLBuffer> buffer = [[device newBufferWithLength:count * sizeof(float)
                                              options:options] autorelease];
  if (!buffer) refuse("MPSState", @"out of memory");
  return buffer;
}

void write_floats(id<MTLBuffer> buffer, const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  std::memcpy(device_bytes(buffer), floats.data(),
              floats.size() * sizeof(float));
}

std::vector<float> read_floats(id<MTLBuffer> buffer, std::size_t count) {
  std::vector<float> floats(count);
  std::memcpy(floats.data(), device_bytes(buffer), count * sizeof(float));
  return floats;
}

void ConvolutionState::poison() {
  poison_buffer(weights.get());
  poison_buffer(biases.get());
}

void ConvolutionState::synchronize() {
  synchronize_to_host(weights.get());
  synchronize_to_host(biases.get());
}

}  // namespace emulator::mpsnn

@interface MPSCNNConvolutionGradientState ()
- (ConvolutionState&)convolutionState;
@end

@implementation MPSCNNConvolutionGradientState
- (ConvolutionState&)convolutionState {
  return static_cast<ConvolutionState&>(*[self filterState]);
}
- (id<MTLBuffer>)gradientForWeights {
  return [self convolutionState].weights.get();
}
- (id<MTLBuffer>)gradientForBiases {
  return [self convolutionState].biases.get();
}
- (MPSCNNConvolution*)convolution {
  return [self convolutionState].convolution.get();
}
- (MPSCNNConvolutionWeightsLayout)gradientForWeightsLayout {
  return MPSCNNConvolutionWeightsLayoutOHWI;
}
- (NSUInteger)sourceWidth {
  return [self convolutionState].sources[0].width;
}
- (NSUInteger)sourceHeight {
  return [self convolutionState].sources[0].height;
}
@end

@implementation MPSCNNConvolutionTransposeGradientState
@end

@implementation MPSCNNConvolution
@synthesize inputFeatureChannels = _inputFeatureChannels,
            outputFeatureChannels = _outputFeatureChannels, groups = _groups,
            dataSource = _dataSource;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                        window:(const emulator::mpsnn::Window&)window
                    descriptor:(MPSCNNConvolutionDescriptor*)descriptor
                    dataSource:(id<MPSCNNConvolutionDataSource>)source {
  self = [self initWithDevice:device
                       window:window
                     edgeMode:emulator::mpsnn::EdgeMode::Zero];
  _inputFeatureChannels = [descriptor inputFeatureChannels];
  _outputFeatureChannels = [descriptor outputFeatureChannels];
  _groups = [descriptor groups];
  _dataSource = [(id)source retain];
  return self;
}

- (void)dealloc {
  [(id)_dataSource release];
  [super dealloc];
}
@end

@implementation MPSCNNConvolutionTranspose
@synthesize kernelOffsetX = _kernelOffsetX, kernelOffsetY = _kernelOffsetY;
@end

@interface MPSCNNConvolutionWeightsAndBiasesState ()
- (instancetype)initWithDescriptor:(MPSCNNConvolutionDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                     commandBuffer:(id<MTLCommandBuffer>)buffer;
@end

@implementation MPSCNNConvolutionWeightsAndBiasesState
@synthesize weightsOffset = _weightsOffset, biasesOffset = _biasesOffset;

namespace {

std::size_t num_weights(MPSCNNConvolutionDescriptor* d) {
  const bool is_depthwise =
      [d isKindOfClass:[MPSCNNDepthWiseConvolutionDescriptor class]];
  const std::size_t inputs =
      is_depthwise ? 1 : [d inputFeatureChannels] / [d groups];
  return
      [d outputFeatureChannels] * [d kernelHeight] * [d kernelWidth] * inputs;
}

}  // namespace

+ (instancetype)
    temporaryCNNConvolutionWeightsAndBiasesStateWithCommandBuffer:
        (id<MTLCommandBuffer>)buffer
                                         cnnConvolutionDescriptor:
                                             (MPSCNNConvolutionDescriptor*)
                                                 descriptor {
  if (!buffer) refuse("temporary state", @"the command buffer is nil");
  return [[[self alloc] initWithDescriptor:descriptor
                                    device:[buffer device]
                             commandBuffer:buffer] autorelease];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
      cnnConvolutionDescriptor:(MPSCNNConvolutionDescriptor*)descriptor {
  return [self initWithDescriptor:descriptor device:device commandBuffer:nil];
}

- (instancetype)initWithDescriptor:(MPSCNNConvolutionDescriptor*)descriptor
                            device:(id<MTLDevice>)device
                     commandBuffer:(id<MTLCommandBuffer>)buffer {
  const char* what = "MPSCNNConvolutionWeightsAndBiasesState";
  if (!descriptor || !device) refuse(what, @"device or descriptor is nil");
  const bool is_temporary = buffer != nil;
  id<MTLBuffer> weights = emulator::mpsnn::make_state_buffer(
      device, num_weights(descriptor), is_temporary);
  id<MTLBuffer> biases = emulator::mpsnn::make_state_buffer(
      device, [descriptor outputFeatureChannels], is_temporary);
  return [self initWithResources:[NSArray arrayWithObjects:weights, biases, nil]
                   commandBuffer:buffer];
}

- (instancetype)initWithWeights:(id<MTLBuffer>)weights
                         biases:(id<MTLBuffer>)biases {
  if (!weights) refuse("initWithWeights", @"the weights are nil");
  return [self initWithResources:[NSArray arrayWithObjects:weights, biases, nil]
                   commandBuffer:nil];
}

- (instancetype)initWithWeights:(id<MTLBuffer>)weights
                  weightsOffset:(NSUInteger)weights_offset
                         biases:(id<MTLBuffer>)biases
                   biasesOffset:(NSUInteger)biases_offset
       cnnConvolutionDescriptor:(MPSCNNConvolutionDescriptor*)descriptor {
  const char* what = "initWithWeights";
  if (!descriptor) refuse(what, @"the descriptor is nil");
  if (weights_offset % sizeof(float) || biases_offset % sizeof(float)) {
    refuse(what, @"offsets must be multiples of 4");
  }
  self = [self initWithWeights:weights biases:biases];
  _weightsOffset = weights_offset;
  _biasesOffset = biases_offset;
  const std::size_t needed = num_weights(descriptor) * sizeof(float);
  const std::size_t needed_biases =
      [descriptor outputFeatureChannels] * sizeof(float);
  if (weights_offset + needed > [weights length] ||
      (biases && biases_offset + needed_biases > [biases length])) {
    refuse(what, @"the buffers are too short");
  }
  return self;
}

- (id<MTLBuffer>)weights {
  return (id<MTLBuffer>)[self resourceAtIndex:0 allocateMemory:YES];
}
- (id<MTLBuffer>)biases {
  if ([self resourceCount] < 2) return nil;
  return (id<MTLBuffer>)[self resourceAtIndex:1 allocateMemory:YES];
}
@end
