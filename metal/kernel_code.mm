// SPDX-License-Identifier: MIT
#import "metal/kernel_code.h"

#include <algorithm>

namespace traingraph::metal {

void encode_kernel(const GpuDevice& device, const KernelLaunch& launch,
                   std::span<const ObjcPtr<id<MTLBuffer>>> buffers,
                   MPSCommandBuffer* to) {
  id<MTLComputePipelineState> pipeline =
      device.kernels[static_cast<int>(launch.kernel)].get();
  const auto threads =
      std::min<std::size_t>(device.limits.max_threads_per_group,
                            [pipeline maxTotalThreadsPerThreadgroup]);
  id<MTLComputeCommandEncoder> compute = [to computeCommandEncoder];
  [compute setComputePipelineState:pipeline];
  NSUInteger index = 0;
  for (const auto& bound : buffers) {
    [compute setBuffer:bound.get() offset:0 atIndex:index++];
  }
  [compute setBytes:launch.params.data()
             length:launch.params.size()
            atIndex:index];
  const std::size_t groups = (launch.num_threads + threads - 1) / threads;
  [compute dispatchThreadgroups:MTLSizeMake(groups, 1, 1)
          threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  [compute endEncoding];
}

class KernelCode::Bound final : public BoundCode {
 public:
  explicit Bound(const KernelCode& code) : code_(code) {}

  /// Returns false when there is no buffer to be had.
  bool bind(const UnitMemory& memory) {
    for (const Buffer& buffer : code_.buffers_) {
      buffers_.push_back(memory.buffer(buffer.arg, buffer.bytes));
      if (!buffers_.back().get()) return false;
    }
    return true;
  }

  void encode(MPSCommandBuffer* buffer) override {
    encode_kernel(code_.device_, code_.launch_, buffers_, buffer);
  }

 private:
  const KernelCode& code_;
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers_;
};

std::unique_ptr<BoundCode> KernelCode::bind(const UnitMemory& memory) const {
  auto bound = std::make_unique<Bound>(*this);
  if (!bound->bind(memory)) return nullptr;
  return bound;
}

}  // namespace traingraph::metal
