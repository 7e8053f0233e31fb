// SPDX-License-Identifier: MIT
#import "metal/gpu_device.h"

#import "metal/compile_kernels.h"
#import "metal/gpu_system.h"
#import "metal/guard.h"
#include "metal/kernels/sources.h"
#import "metal/smoke_test.h"

namespace traingraph::metal {
namespace {

/// A virtual machine's GPU is the host's by another name and may lack anything.
std::string about_virtual_machines(const std::string& name) {
  const bool is_virtual = name.find("Paravirtual") != std::string::npos ||
                          name.find("Virtual") != std::string::npos;
  if (!is_virtual) return {};
  return "; it is a virtual machine's, as hosted CI runs on, and many of these "
         "cannot compute: use the device \"cpu\" there, or a real Mac";
}

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
  const bool is_known = [device supportsFamily:MTLGPUFamilyApple7] ||
                        [device supportsFamily:MTLGPUFamilyMac2];
  if (!is_known) {
    return '"' + name +
           "\" is of an older family than Apple silicon Macs have" +
           about_virtual_machines(name);
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

/// Kernels [first, last) from their source. Empty on success.
std::string make_kernels(GpuDevice& device, const std::string& source,
                         int first, int last) {
  return compile_kernels(
      device.metal.get(), source,
      std::span(kKernelNames).subspan(first, last - first),
      std::span(device.kernels).subspan(first, last - first));
}

std::string fill(GpuDevice& device) {
  id<MTLDevice> metal = device.metal.get();
  device.graph = retain([MPSGraphDevice deviceWithMTLDevice:metal]);
  device.residency.start(metal);
  device.queue = make_queue(device);
  if (!device.queue.get()) return "the GPU gives no command queue";
  device.limits = limits_of(system_of(metal));
  const std::string name = to_string([metal name]);
  constexpr int kFirstUpdate = static_cast<int>(kFirstUpdateKernel);
  const std::string problem = make_kernels(
      device, std::string(kDropoutSource) + kStatisticsSource, 0, kFirstUpdate);
  if (!problem.empty()) {
    return "compiling a kernel failed: " + problem +
           about_virtual_machines(name);
  }
  // MPSGraph can do without these.
  if (device.limits.uses_update_kernels) {
    device.update_kernel_problem =
        make_kernels(device, kUpdateSource, kFirstUpdate, kNumKernels);
    device.limits.uses_update_kernels = device.update_kernel_problem.empty();
  }
  const std::string reason = smoke_test(device);
  if (reason.empty()) return reason;
  return '"' + name + "\" is not usable: " + reason +
         about_virtual_machines(name);
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

ObjcPtr<id<MTLCommandQueue>> make_queue(const GpuDevice& device) {
  auto queue = adopt<id<MTLCommandQueue>>([device.metal.get() newCommandQueue]);
  [queue.get() setLabel:@"traingraph"];
  if (queue.get()) device.residency.attach_to(queue.get());
  return queue;
}

std::string name_of(const GpuDevice& device) {
  @autoreleasepool {
    return to_string([device.metal.get() name]);
  }
}

std::string describe(const GpuDevice& device) {
  const auto gigabytes =
      [device.metal.get() recommendedMaxWorkingSetSize] / 1000000000;
  const std::string text =
      "gpu (" + name_of(device) + ", " + std::to_string(gigabytes) + " GB";
  if (device.update_kernel_problem.empty()) return text + ')';
  return text + "; updates by MPSGraph, since Metal did not compile kernels: " +
         device.update_kernel_problem + ')';
}

}  // namespace traingraph::metal
