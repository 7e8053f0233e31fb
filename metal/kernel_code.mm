// SPDX-License-Identifier: MIT
#import "metal/kernel_code.h"

#include <algorithm>

namespace traingraph::metal {

class KernelCode::Bound final : public BoundCode {
 public:
  explicit Bound(const KernelCode& code) : code_(code) {}

  /// False when there is no buffer to be had.
  bool bind(const UnitMemory& memory) {
    for (const Buffer& buffer : code_.buffers_) {
      buffers_.push_back(memory.buffer(buffer.arg, buffer.bytes));
      if (!buffers_.back().get()) return false;
    }
    return true;
  }

  void encode(MPSCommandBuffer* buffer) override {
    const KernelLaunch& launch = code_.launch_;
    const std::size_t threads = code_.threads_per_group_;
    id<MTLComputeCommandEncoder> compute = [buffer computeCommandEncoder];
    [compute setComputePipelineState:code_.pipeline_.get()];
    NSUInteger index = 0;
    for (const auto& bound : buffers_) {
      [compute setBuffer:bound.get() offset:0 atIndex:index++];
    }
    [compute setBytes:launch.params.data()
               length:launch.params.size()
              atIndex:index];
    [compute
         dispatchThreadgroups:MTLSizeMake(
                                  (launch.num_threads + threads - 1) / threads,
                                  1, 1)
        threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [compute endEncoding];
  }

 private:
  const KernelCode& code_;
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers_;
};

KernelCode::KernelCode(const GpuDevice& device, KernelLaunch launch,
                       std::vector<Buffer> buffers)
    : pipeline_(device.kernels[static_cast<int>(launch.kernel)]),
      launch_(std::move(launch)),
      buffers_(std::move(buffers)),
      threads_per_group_(std::min<std::size_t>(
          device.limits.max_threads_per_group,
          [pipeline_.get() maxTotalThreadsPerThreadgroup])) {}

std::unique_ptr<BoundCode> KernelCode::bind(const UnitMemory& memory) const {
  auto bound = std::make_unique<Bound>(*this);
  if (!bound->bind(memory)) return nullptr;
  return bound;
}

}  // namespace traingraph::metal
