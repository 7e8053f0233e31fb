// SPDX-License-Identifier: MIT
// Memory of a device, which only its backend can address, and what its queue
// copies there and from there: memory of the host, of its own, and of others'.
#pragma once

#include <cstddef>
#include <memory>
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

/// From device memory to device memory.
struct Copy {
  Location from, to;
  std::size_t bytes = 0;
};

struct Download {
  Location from;
  HostLocation to;
  std::size_t bytes = 0;
};

/// Work of somebody else's that a device's queue can wait for; only the
/// device's backend knows what it is.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

/// Memory of a device that somebody else has, such as a tensor of another
/// library.
struct DeviceSource {
  const void* address = nullptr;  // as the device knows it
  std::size_t bytes = 0;
  std::shared_ptr<const void> owner = {};   // keeps it alive
  std::shared_ptr<DeviceEvent> ready = {};  // null: it has been written
};

/// Work overwrites these bytes with NaN patterns
/// (CompileOptions::poison_memory).
struct PoisonRange {
  Location at;
  std::size_t bytes = 0;
};

}  // namespace traingraph
