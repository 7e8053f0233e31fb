// SPDX-License-Identifier: MIT
// ConvolutionState: gradients of weights and biases in buffers.
#pragma once

#include "filter_kernel.h"
#import "objects.h"
#import "retained.h"

namespace emulator::mpsnn {

/// Buffers of a state: the host sees them unless the state is temporary.
id<MTLBuffer> make_state_buffer(id<MTLDevice> device, std::size_t count,
                                bool is_temporary);
void write_floats(id<MTLBuffer> buffer, const std::vector<double>& values);
std::vector<float> read_floats(id<MTLBuffer> buffer, std::size_t count);

struct ConvolutionState : FilterState {
  Retained<id<MTLBuffer>> weights{nil}, biases{nil};
  Retained<MPSCNNConvolution*> convolution{nil};

  void poison() override;
  void synchronize() override;
};

}  // namespace emulator::mpsnn

@interface MPSCNNConvolution (Emulator)
- (instancetype)initWithDevice:(id<MTLDevice>)device
                        window:(const emulator::mpsnn::Window&)window
                    descriptor:(MPSCNNConvolutionDescriptor*)descriptor
                    dataSource:(id<MPSCNNConvolutionDataSource>)source;
@end
