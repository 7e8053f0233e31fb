// SPDX-License-Identifier: MIT
// Rows that are behind. A step that looks up a few rows of a large table leaves
// the others as they are (compiler/row_updates.h), although momentum, decay or
// running means would move them. They catch up, one step after the other with
// the rates of each, before anybody sees them:
//   * the step's own units, before they look rows up;
//   * everything else on the device, in the queue's order: work that is bound
//     to the same memory, copies from and to it, and views for the host.
// That is decided by addresses, here alone: nothing that reads a tensor has to
// know, and nothing can be forgotten.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device_context.h"

namespace traingraph::cpu {

struct Bytes {
  std::byte* begin;
  std::size_t size;
  bool overlaps(const Bytes& other) const {
    return begin < other.begin + other.size && other.begin < begin + size;
  }
};

/// One table, of one binding of a step.
class DeferredRows {
 public:
  virtual ~DeferredRows() = default;
  /// Brings all rows up to now. Allocates nothing and throws nothing.
  virtual void catch_up() = 0;

  bool uses(const Bytes& bytes) const {
    return std::ranges::any_of(
        memory, [&](const Bytes& own) { return own.overlaps(bytes); });
  }

  std::atomic<bool> is_behind = false;
  /// Parameter, slots, and what is noted of rows; set when it is bound.
  std::vector<Bytes> memory;
  /// Where these lie: rows may have to catch up when the graph is gone.
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
};

/// All of a device.
class DeferredRowsList {
 public:
  /// `submit` enqueues.
  explicit DeferredRowsList(std::function<void(Submission&)> submit)
      : submit_(std::move(submit)) {}

  void add(std::shared_ptr<DeferredRows> rows);
  /// Its step is gone: rows that are behind catch up when the queue comes to
  /// it, and before anything that is enqueued from now on.
  void release(const std::shared_ptr<DeferredRows>& rows) noexcept;
  /// The device ends, and with it whoever could read.
  void close() noexcept;

  /// Before memory is used by others: catches up what is behind and `uses`
  /// says to.
  template <class Uses>
  void catch_up_if(const Uses& uses) {
    if (num_tables_.load(std::memory_order_relaxed) == 0) return;
    std::scoped_lock lock(mutex_);
    for (const Entry& entry : entries_) {
      if (!entry.rows->is_behind) continue;
      if (entry.is_released || uses(*entry.rows)) entry.rows->catch_up();
    }
    drop_released();
  }

 private:
  struct Entry {
    std::shared_ptr<DeferredRows> rows;
    bool is_released = false;
  };
  void drop_released();

  std::mutex mutex_;
  std::function<void(Submission&)> submit_;  // empty: closed
  std::vector<Entry> entries_;
  std::atomic<int> num_tables_ = 0;
};

}  // namespace traingraph::cpu
