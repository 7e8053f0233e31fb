// SPDX-License-Identifier: MIT
// Devices of backends that compute in the host's memory, on the queue's thread
// (CPU, null).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/device/device_context.h"

namespace traingraph {

class HostBuffer final : public DeviceBuffer,
                         public StagingBuffer,
                         public std::enable_shared_from_this<HostBuffer> {
 public:
  /// Allocates zeros. Throws OutOfMemoryError.
  HostBuffer(std::size_t bytes, std::string_view label);
  /// A view of somebody else's memory, which nobody writes.
  explicit HostBuffer(const DeviceSource& source);

  std::size_t size_bytes() const override { return bytes_; }
  std::span<std::byte> bytes() const override { return {data_.get(), bytes_}; }

  /// Counts all that may have changed device memory: what was copied there,
  /// runs of units that write there, and views that the host was given.
  std::uint64_t num_writes() const {
    return num_writes_.load(std::memory_order_relaxed);
  }
  void count_write() { num_writes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::size_t bytes_;
  std::atomic<std::uint64_t> num_writes_{0};
  std::shared_ptr<std::byte> data_;
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
  /// The host's memory has been written when there is an address of it.
  std::shared_ptr<DeviceBuffer> wrap(const DeviceSource& source) final {
    return std::make_shared<HostBuffer>(source);
  }
  std::byte* host_view(Location at) const override {
    buffer_of(at).count_write();
    return address_of(at);
  }
  bool reaches_marks() const final { return true; }

  static HostBuffer& buffer_of(Location at) {
    return *static_cast<HostBuffer*>(at.buffer);
  }
  static std::byte* address_of(Location at) {
    return buffer_of(at).bytes().data() + at.offset;
  }
};

/// Calls reached() as units run.
class Marks {
 public:
  explicit Marks(Submission& submission) : submission_(submission) {}
  /// All before `unit` have run.
  void before(std::size_t unit) {
    const auto marks = submission_.work->marks();
    while (next_ < marks.size() &&
           static_cast<std::size_t>(marks[next_].before) <= unit) {
      submission_.reached(next_++);
    }
  }

 private:
  Submission& submission_;
  std::size_t next_ = 0;
};

/// Executes the units of a submission, with its marks; may throw.
using RunUnits = void (*)(Submission& submission);
/// Does the work of the queue's thread for a submission to a HostMemoryContext.
void run_on_host(Submission& submission, RunUnits run);

}  // namespace traingraph
