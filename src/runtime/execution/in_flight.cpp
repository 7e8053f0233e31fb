// SPDX-License-Identifier: MIT
#include "runtime/execution/in_flight.h"

#include "runtime/device/device_wait.h"

namespace traingraph {

/// An interrupted wait drops what waits with it.
template <class Predicate>
void InFlight::wait_or_drop(std::unique_lock<std::mutex>& lock,
                            const Predicate& is_over) const {
  try {
    wait_for_device(changed_, lock, is_over);
  } catch (...) {
    drop_waiting();
    throw;
  }
}

void InFlight::reserve() {
  // After a fork the mutex may be held by a thread that does not exist.
  require_device_threads();
  std::unique_lock lock(mutex_);
  wait_or_drop(lock, [this] { return num_reserved_ < kMaxInFlight; });
  ++num_reserved_;
}

void InFlight::give_back() noexcept {
  std::scoped_lock lock(mutex_);
  --num_reserved_;
  changed_.notify_all();
}

std::uint64_t InFlight::start() noexcept {
  num_working_.fetch_add(1);
  std::scoped_lock lock(mutex_);
  return ++num_started_;
}

void InFlight::finished() noexcept {
  std::scoped_lock lock(mutex_);
  --num_reserved_;
  ++num_finished_;
  changed_.notify_all();
}

void InFlight::wait_until_idle() const {
  require_device_threads();
  std::unique_lock lock(mutex_);
  const std::uint64_t target = num_started_;
  wait_or_drop(lock, [&] { return num_finished_ >= target; });
}

}  // namespace traingraph
