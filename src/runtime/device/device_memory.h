// SPDX-License-Identifier: MIT
// Memory of a device, which only its backend can address, and memory of the
// host that its queue copies from and to.
#pragma once

#include <cstddef>
#include <span>

namespace traingraph {

/// Device memory, which is freed when the last owner lets go.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual std::size_t size_bytes() const = 0;
};

/// Host memory that the device's queue can copy from and to.
class StagingBuffer {
 public:
  virtual ~StagingBuffer() = default;
  virtual std::span<std::byte> bytes() const = 0;
};

/// A place in device memory.
struct Location {
  DeviceBuffer* buffer = nullptr;
  std::size_t offset = 0;
};

/// A place in a staging buffer.
struct HostLocation {
  StagingBuffer* buffer = nullptr;
  std::size_t offset = 0;
  std::byte* data() const { return buffer->bytes().data() + offset; }
};

struct Upload {
  HostLocation from;
  Location to;
  std::size_t bytes = 0;
};

struct Download {
  Location from;
  HostLocation to;
  std::size_t bytes = 0;
};

/// Work overwrites these bytes with NaN patterns
/// (CompileOptions::poison_memory).
struct PoisonRange {
  Location at;
  std::size_t bytes = 0;
};

}  // namespace traingraph
