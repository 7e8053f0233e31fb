// SPDX-License-Identifier: MIT
// DeviceBuffer in host memory, for backends that compute there.
#pragma once

#include <string_view>

#include "runtime/device_context.h"

namespace traingraph {

class HostBuffer final : public DeviceBuffer {
 public:
  /// Zeroed, page-aligned when large. Throws OutOfMemoryError.
  HostBuffer(std::size_t bytes, std::string_view label);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::size_t size_bytes() const override { return bytes_; }
  std::byte* host() const override { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace traingraph
