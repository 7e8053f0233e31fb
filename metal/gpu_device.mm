// SPDX-License-Identifier: MIT
#import "metal/gpu_device.h"

#import "metal/guard.h"
#include "metal/kernels/dropout.h"

namespace traingraph::metal {
namespace {

std::string reason_unusable(id<MTLDevice> device) {
  if (!device) {
    return "macOS offers no Metal device (none, or a virtual machine's)";
  }
  const std::string name = to_string([device name]);
  if (![device hasUnifiedMemory]) {
    return '"' + name +
           "\" has memory of its own; only GPUs that share memory with the "
           "processor (Apple silicon) are supported";
  }
  if (!MPSSupportsMTLDevice(device)) {
    return "Metal Performance Shaders do not support \"" + name + '"';
  }
  return {};
}

/// Programs without a window server have no system default.
ObjcPtr<id<MTLDevice>> find_device() {
  auto device = adopt<id<MTLDevice>>(MTLCreateSystemDefaultDevice());
  if (device.get()) return device;
  const auto all = adopt<NSArray*>(MTLCopyAllDevices());
  if ([all.get() count] == 0) return {};
  return retain<id<MTLDevice>>([all.get() objectAtIndex:0]);
}

/// Empty on success.
std::string make_dropout(GpuDevice& device) {
  NSError* error = nil;
  const auto library = adopt<id<MTLLibrary>>([device.metal.get()
      newLibraryWithSource:to_ns(kDropoutSource)
                   options:nil
                     error:&error]);
  if (!library.get()) return describe(error);
  const auto function = adopt<id<MTLFunction>>(
      [library.get() newFunctionWithName:@"dropout_mask"]);
  if (!function.get()) return "no function dropout_mask";
  device.dropout = adopt<id<MTLComputePipelineState>>([device.metal.get()
      newComputePipelineStateWithFunction:function.get()
                                    error:&error]);
  return device.dropout.get() ? std::string{} : describe(error);
}

std::string fill(GpuDevice& device) {
  id<MTLDevice> metal = device.metal.get();
  device.graph = retain([MPSGraphDevice deviceWithMTLDevice:metal]);
  device.queue = adopt<id<MTLCommandQueue>>([metal newCommandQueue]);
  if (!device.queue.get()) return "the GPU gives no command queue";
  [device.queue.get() setLabel:@"traingraph"];
  const MTLSizeAndAlign size =
      [metal heapBufferSizeAndAlignWithLength:1
                                      options:MTLResourceStorageModeShared];
  device.alignment = std::max<std::size_t>(size.align, 64);
  const std::string problem = make_dropout(device);
  return problem.empty() ? problem : "compiling a kernel failed: " + problem;
}

}  // namespace

Discovery discover_gpu() {
  auto device = std::make_unique<GpuDevice>();
  std::string reason;
  GpuDevice* to_fill = device.get();
  std::string* to_tell = &reason;
  const auto exception = run_guarded(^{
    to_fill->metal = find_device();
    *to_tell = reason_unusable(to_fill->metal.get());
    if (to_tell->empty()) *to_tell = fill(*to_fill);
  });
  if (exception) reason = *exception;
  if (!reason.empty()) return {nullptr, reason};
  return {std::move(device), {}};
}

std::string name_of(const GpuDevice& device) {
  @autoreleasepool {
    return to_string([device.metal.get() name]);
  }
}

std::string describe(const GpuDevice& device) {
  const auto gigabytes =
      [device.metal.get() recommendedMaxWorkingSetSize] / 1000000000;
  return "gpu (" + name_of(device) + ", " + std::to_string(gigabytes) + " GB)";
}

}  // namespace traingraph::metal
