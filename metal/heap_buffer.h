// SPDX-License-Identifier: MIT
// HeapBuffer: device memory as one placement heap. MPSGraph reads tensors from
// byte 0 of an MTLBuffer, so every storage of an arena is a buffer of its own
// at an offset of the heap; they may overlap. Hazards are tracked for the heap
// as a whole: kernels of one queue see each other's writes.
#pragma once

#include <mutex>

#include "metal/gpu_device.h"
#include "metal/write_versions.h"
#include "runtime/device/device_context.h"

namespace traingraph::metal {

class HeapBuffer final : public DeviceBuffer, public StagingBuffer {
 public:
  HeapBuffer(const GpuDevice& device, std::size_t bytes)
      : device_(device), bytes_(bytes) {}
  ~HeapBuffer() override;
  HeapBuffer(const HeapBuffer&) = delete;
  HeapBuffer& operator=(const HeapBuffer&) = delete;

  std::size_t size_bytes() const override { return bytes_; }
  std::span<std::byte> bytes() const override { return {host_, bytes_}; }

  /// All of it, for copies.
  id<MTLBuffer> whole() const { return whole_.get(); }
  /// A buffer at an offset; nil when Metal refuses.
  ObjcPtr<id<MTLBuffer>> part(std::size_t offset, std::size_t bytes) const;

  /// Whoever writes bytes says so, in the order in which that is encoded: what
  /// holds a copy of them (MPSNN's filters of their weights) has to know.
  void note_write(std::size_t offset, std::size_t bytes);
  /// Another number after every write to these bytes; 0: there was none.
  std::uint64_t version(std::size_t offset, std::size_t bytes) const;

  /// Makes a zeroed buffer, null when there is not enough memory; throws
  /// DeviceError when Metal's heaps are not what this library relies on.
  static std::shared_ptr<HeapBuffer> make(const GpuDevice& device,
                                          std::size_t bytes,
                                          std::string_view label);
  /// Reports a `problem`, and returns null, instead of throwing.
  static std::shared_ptr<HeapBuffer> try_make(const GpuDevice& device,
                                              std::size_t bytes,
                                              const std::string& label,
                                              std::string& problem);

 private:
  /// Returns false when there is not enough memory.
  bool fill(const std::string& label);
  /// Sees where the host finds a second buffer; false when there is none.
  bool find_second();

  ObjcPtr<id<MTLHeap>> heap_;
  ObjcPtr<id<MTLBuffer>> whole_;
  const GpuDevice& device_;
  std::size_t bytes_, heap_bytes_ = 0;
  std::byte* host_ = nullptr;
  bool is_contiguous_ = true;

  mutable std::mutex mutex_;  // hosts write on any thread
  WriteVersions writes_;
};

/// Where a buffer of so many bytes may begin, and what it takes a whole number
/// of. Metal says so by length.
std::size_t heap_alignment(const GpuDevice& device, std::size_t bytes);

inline HeapBuffer& heap_of(const Location& location) {
  return static_cast<HeapBuffer&>(*location.buffer);
}
inline HeapBuffer& heap_of(const HostLocation& location) {
  return static_cast<HeapBuffer&>(*location.buffer);
}

}  // namespace traingraph::metal
