// SPDX-License-Identifier: MIT
// What the padding policy of a filter makes of its result.
#import "graph_program.h"
#import "images.h"
#include "padding.h"

namespace emulator::mpsnn {
namespace {

constexpr MTLTextureUsage kReadWrite =
    MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite;

/// A transposed convolution is placed in the source with zeros between its
/// pixels.
void give_offset(MPSCNNKernel* kernel, const Placement& placement) {
  if (![kernel isKindOfClass:[MPSCNNConvolutionTranspose class]]) {
    [kernel setOffset:MPSOffset{placement.offset_x, placement.offset_y, 0}];
    return;
  }
  auto* transpose = (MPSCNNConvolutionTranspose*)kernel;
  [transpose setOffset:MPSOffset{0, 0, 0}];
  [transpose setKernelOffsetX:placement.offset_x];
  [transpose setKernelOffsetY:placement.offset_y];
}

void take_offset(MPSCNNKernel* kernel, Placement& placement) {
  placement.offset_x = [kernel offset].x;
  placement.offset_y = [kernel offset].y;
  if (![kernel isKindOfClass:[MPSCNNConvolutionTranspose class]]) return;
  auto* transpose = (MPSCNNConvolutionTranspose*)kernel;
  placement.offset_x *= NSInteger([kernel strideInPixelsX]);
  placement.offset_y *= NSInteger([kernel strideInPixelsY]);
  placement.offset_x += [transpose kernelOffsetX];
  placement.offset_y += [transpose kernelOffsetY];
}

void ask_policy(const Step& step, NSArray<MPSImage*>* images,
                NSArray<MPSState*>* states, Destination& destination) {
  id<MPSNNPadding> padding = step.padding.get();
  const char* what = step.name.c_str();
  SEL selector = @selector(
      destinationImageDescriptorForSourceImages:
                                   sourceStates:forKernel:suggestedDescriptor:);
  if (![padding respondsToSelector:selector]) {
    refuse(what, @"a custom padding policy without the method");
  }
  MPSCNNKernel* kernel = step.mps_kernel.get();
  MPSImageDescriptor* descriptor = [padding
      destinationImageDescriptorForSourceImages:images
                                   sourceStates:states
                                      forKernel:kernel
                            suggestedDescriptor:destination.descriptor.get()];
  if (!descriptor) refuse(what, @"the padding policy returned nil");
  destination.descriptor = Retained<MPSImageDescriptor*>(descriptor);
  Placement& placement = destination.placement;
  const Extent wanted = extent_of(descriptor);
  const bool is_placed = step.kernel->window().has_value();
  if (wanted.channels != placement.result.channels ||
      (!is_placed && !(wanted == placement.result))) {
    refuse(what, @"the padding policy made %@ of %@", to_ns(to_string(wanted)),
           to_ns(to_string(placement.result)));
  }
  placement.result = wanted;
  take_offset(kernel, placement);
}

}  // namespace

Destination destination_of(const Step& step, const Sizes& sizes,
                           NSArray<MPSImage*>* images,
                           NSArray<MPSState*>* states,
                           MPSImageFeatureChannelFormat format) {
  const FilterKernel& kernel = *step.kernel;
  const MPSNNPaddingMethod method = [step.padding.get() paddingMethod];
  Destination destination;
  Placement& placement = destination.placement;
  const auto fixed = kernel.placement(sizes);
  if (fixed) {
    placement = *fixed;
  } else if (auto window = kernel.window()) {
    placement = place(method, *window, sizes.sources[0],
                      kernel.result_extent(sizes).channels);
  } else {
    placement.result = kernel.result_extent(sizes);
  }
  give_offset(step.mps_kernel.get(), placement);
  MPSImageDescriptor* suggested = [MPSImageDescriptor
      imageDescriptorWithChannelFormat:format
                                 width:placement.result.width
                                height:placement.result.height
                       featureChannels:placement.result.channels
                        numberOfImages:1
                                 usage:kReadWrite];
  destination.descriptor = Retained<MPSImageDescriptor*>(suggested);
  // Gradients take sizes and offsets from the forward filter's state.
  if ((method & MPSNNPaddingMethodCustom) && !step.is_gradient && !fixed) {
    ask_policy(step, images, states, destination);
  }
  placement.edge_mode = static_cast<EdgeMode>([step.mps_kernel.get() edgeMode]);
  const Extent& result = placement.result;
  if (result.width <= 0 || result.height <= 0 || result.channels <= 0) {
    refuse(step.name.c_str(), @"the result would be %@",
           to_ns(to_string(result)));
  }
  return destination;
}

}  // namespace emulator::mpsnn
