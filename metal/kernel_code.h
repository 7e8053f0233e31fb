// SPDX-License-Identifier: MIT
// KernelCode: one launch of a compute kernel of our own (metal/kernels).
#pragma once

#import "metal/unit_code.h"

namespace traingraph::metal {

class KernelCode final : public EngineCode {
 public:
  /// What the kernel finds at buffer(i).
  struct Buffer {
    int arg = 0;  // of the unit
    std::size_t bytes = 0;
  };

  KernelCode(const GpuDevice& device, KernelLaunch launch,
             std::vector<Buffer> buffers);
  std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const override;

 private:
  class Bound;

  ObjcPtr<id<MTLComputePipelineState>> pipeline_;
  KernelLaunch launch_;
  std::vector<Buffer> buffers_;
  std::size_t threads_per_group_;
};

}  // namespace traingraph::metal
