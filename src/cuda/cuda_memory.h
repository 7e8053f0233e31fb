// SPDX-License-Identifier: MIT
// Memory of a card, and host memory that it reads and writes itself.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "cuda/card.h"
#include "runtime/device/device_memory.h"

namespace traingraph::cuda {

/// Keeps the card that its memory belongs to.
class CudaBuffer final : public DeviceBuffer {
 public:
  /// Throws OutOfMemoryError with the sizes.
  CudaBuffer(std::shared_ptr<const Card> card, std::size_t bytes,
             std::string_view label);
  ~CudaBuffer() override;
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  std::size_t size_bytes() const override { return bytes_; }
  DeviceAddress address() const { return address_; }

 private:
  std::shared_ptr<const Card> card_;
  std::size_t bytes_;
  DeviceAddress address_ = 0;
};

/// Pinned and mapped: the card's kernels find it, too. Holds zeros at first.
class MappedBuffer final : public StagingBuffer {
 public:
  /// Throws OutOfMemoryError with the size.
  MappedBuffer(std::shared_ptr<const Card> card, std::size_t bytes,
               std::string_view label);
  ~MappedBuffer() override;
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  std::span<std::byte> bytes() const override { return {data_, bytes_}; }
  DeviceAddress address() const { return address_; }

 private:
  std::shared_ptr<const Card> card_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  DeviceAddress address_ = 0;
};

inline DeviceAddress address_of(const Location& at) {
  return static_cast<const CudaBuffer&>(*at.buffer).address() + at.offset;
}
inline DeviceAddress address_of(const HostLocation& at) {
  return static_cast<const MappedBuffer&>(*at.buffer).address() + at.offset;
}

}  // namespace traingraph::cuda
