// SPDX-License-Identifier: MIT
// GpuDevice: the process's GPU with its one command queue.
#pragma once

#include <memory>
#include <string>

#import "metal/apple.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal {

struct GpuDevice {
  ObjcPtr<id<MTLDevice>> metal;
  ObjcPtr<MPSGraphDevice*> graph;
  ObjcPtr<id<MTLCommandQueue>> queue;
  ObjcPtr<id<MTLComputePipelineState>> dropout;
  /// Of buffers inside a heap.
  std::size_t alignment = 256;
};

struct Discovery {
  std::unique_ptr<GpuDevice> device;
  std::string reason;  // why there is none
};
Discovery discover_gpu();

/// "gpu (Apple M2, 16 GB)".
std::string describe(const GpuDevice& device);

}  // namespace traingraph::metal
