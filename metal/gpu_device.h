// SPDX-License-Identifier: MIT
// GpuDevice: the process's GPU with its one command queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#import "metal/apple.h"
#include "metal/gpu_limits.h"
#include "metal/kernels/kernels.h"
#import "metal/objc_ptr.h"
#import "metal/residency.h"

namespace traingraph::metal {

struct GpuDevice {
  ObjcPtr<id<MTLDevice>> metal;
  ObjcPtr<MPSGraphDevice*> graph;
  /// The queue belongs to the thread that encodes.
  mutable ObjcPtr<id<MTLCommandQueue>> queue;
  ObjcPtr<id<MTLComputePipelineState>> kernels[kNumKernels];
  GpuLimits limits;
  /// Why Metal did not compile the update kernels, which are then left out of
  /// `kernels` (GpuLimits::uses_update_kernels is off); empty: it did.
  std::string update_kernel_problem;
  mutable Residency residency;  // of all heaps
  /// The sum over all heaps that are alive, as Metal counts them.
  mutable std::atomic<std::size_t> heap_bytes{0};
  /// Counts submissions that failed: after one nobody knows what weights
  /// MPSNN's filters hold.
  mutable std::atomic<std::uint64_t> num_failures{0};
  /// macOS ignores what is submitted to the queue; another one is needed.
  mutable std::atomic<bool> has_dead_queue{false};
};

struct Discovery {
  std::unique_ptr<GpuDevice> device;
  std::string reason;  // why there is none
};
Discovery discover_gpu();
/// Nil when there is none to be had.
ObjcPtr<id<MTLCommandQueue>> make_queue(const GpuDevice& device);

/// "Apple M2".
std::string name_of(const GpuDevice& device);
/// "gpu (Apple M2, 16 GB)".
std::string describe(const GpuDevice& device);

}  // namespace traingraph::metal
