// SPDX-License-Identifier: MIT
// Launches of compute kernels of our own (metal/kernels): KernelCode is one
// that is a part of a unit.
#pragma once

#include <span>

#include "metal/kernels/kernels.h"
#import "metal/unit_code.h"

namespace traingraph::metal {

/// Any of the buffers may be of a heap.
void encode_kernel(const GpuDevice& device, const KernelLaunch& launch,
                   std::span<const ObjcPtr<id<MTLBuffer>>> buffers,
                   MPSCommandBuffer* to);

class KernelCode final : public EngineCode {
 public:
  /// What the kernel finds at buffer(i).
  struct Buffer {
    int arg = 0;  // of the unit
    std::size_t bytes = 0;
  };

  KernelCode(const GpuDevice& device, KernelLaunch launch,
             std::vector<Buffer> buffers)
      : device_(device),
        launch_(std::move(launch)),
        buffers_(std::move(buffers)) {}
  std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const override;

 private:
  class Bound;

  const GpuDevice& device_;
  KernelLaunch launch_;
  std::vector<Buffer> buffers_;
};

}  // namespace traingraph::metal
