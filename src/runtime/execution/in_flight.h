// SPDX-License-Identifier: MIT
// InFlight: how many executions of a session are under way, with a bound: a
// caller that is faster than the device waits instead of filling memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/condition_variable.h"

namespace traingraph {

/// Executions of one session between their call and their end.
inline constexpr int kMaxInFlight = 64;

class InFlight {
 public:
  /// Waits until one more may be enqueued: until the device has ended work, not
  /// until callbacks ran. Can be interrupted.
  void reserve();
  /// Returns a reservation: the call was refused.
  void give_back() noexcept;
  /// Before submitting, with a reservation.
  void start() noexcept;
  /// Nothing of the execution touches device memory any more.
  void work_finished() noexcept { num_working_.fetch_sub(1); }
  /// It is done(); its room is free.
  void finished() noexcept;

  /// No work touches device memory: the host may.
  bool is_idle() const { return num_working_.load() == 0; }
  /// Waits until everything that was started before this call is done(), even
  /// when other threads start more meanwhile. Can be interrupted.
  void wait_until_idle() const;

 private:
  std::atomic<int> num_working_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int num_reserved_ = 0;  // including what was started
  std::uint64_t num_started_ = 0, num_finished_ = 0;  // in the same order
};

}  // namespace traingraph
