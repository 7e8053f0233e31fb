// SPDX-License-Identifier: MIT
#include "cpu/deferred_rows.h"

#include <new>

namespace traingraph::cpu {
namespace {

/// Only passes through the queue, which catches up what was released.
class Passing final : public Submission {
 public:
  std::exception_ptr blocked() noexcept override { return nullptr; }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr, double) noexcept override { delete this; }
};

}  // namespace

void DeferredRowsList::add(std::shared_ptr<DeferredRows> rows) {
  std::scoped_lock lock(mutex_);
  entries_.push_back({std::move(rows)});
  num_tables_ = static_cast<int>(entries_.size());
}

void DeferredRowsList::release(
    const std::shared_ptr<DeferredRows>& rows) noexcept {
  std::scoped_lock lock(mutex_);
  const auto it = std::ranges::find(entries_, rows, &Entry::rows);
  if (it == entries_.end()) return;
  it->is_released = true;
  if (!submit_) rows->is_behind = false;
  if (!rows->is_behind) return drop_released();
  // Without memory for it the next submission does.
  if (auto* const passing = new (std::nothrow) Passing) submit_(*passing);
}

void DeferredRowsList::close() noexcept {
  std::scoped_lock lock(mutex_);
  submit_ = nullptr;
}

void DeferredRowsList::drop_released() {
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.is_released && !entry.rows->is_behind;
  });
  num_tables_ = static_cast<int>(entries_.size());
}

}  // namespace traingraph::cpu
