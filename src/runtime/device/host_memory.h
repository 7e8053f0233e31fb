// SPDX-License-Identifier: MIT
// For backends that compute in the host's memory, on the queue's thread (CPU,
// null).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/device/device_context.h"

namespace traingraph {

class HostBuffer final : public DeviceBuffer,
                         public StagingBuffer,
                         public std::enable_shared_from_this<HostBuffer> {
 public:
  /// Zeroed. Throws OutOfMemoryError.
  HostBuffer(std::size_t bytes, std::string_view label);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::size_t size_bytes() const override { return bytes_; }
  std::span<std::byte> bytes() const override { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

/// All its buffers are HostBuffers.
class HostMemoryContext : public DeviceContext {
 public:
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) final {
    return std::make_shared<HostBuffer>(bytes, label);
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) final {
    return std::make_shared<HostBuffer>(bytes, label);
  }
  std::byte* host_view(Location at) const override { return address_of(at); }

  static std::byte* address_of(Location at) {
    return static_cast<HostBuffer*>(at.buffer)->bytes().data() + at.offset;
  }
};

/// Executes units; may throw.
using RunUnits = void (*)(BoundUnits& work, std::span<double> unit_seconds);
/// What the queue's thread does with a submission to a HostMemoryContext.
void run_on_host(Submission& submission, RunUnits run);

}  // namespace traingraph
