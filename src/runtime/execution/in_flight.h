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
  /// Before submitting, with a reservation. Returns how many were started.
  std::uint64_t start() noexcept;
  /// Nothing of the execution touches device memory any more.
  void work_finished() noexcept { num_working_.fetch_sub(1); }
  /// It is done(); its room is free.
  void finished() noexcept;

  /// No work touches device memory: the host may.
  bool is_idle() const { return num_working_.load() == 0; }
  /// Whatever was started so far and has not begun never begins.
  void drop_waiting() const noexcept { num_dropped_ = num_started_.load(); }
  /// Of an execution that start() gave this number.
  bool is_dropped(std::uint64_t number) const {
    return number <= num_dropped_.load();
  }
  /// Waits until everything that was started before this call is done(), even
  /// when other threads start more meanwhile. Can be interrupted, as reserve():
  /// that drops what waits.
  void wait_until_idle() const;

 private:
  template <class Predicate>
  void wait_or_drop(std::unique_lock<std::mutex>& lock,
                    const Predicate& is_over) const;

  std::atomic<int> num_working_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int num_reserved_ = 0;  // including what was started
  std::atomic<std::uint64_t> num_started_{0};
  std::uint64_t num_finished_ = 0;  // in the same order
  // All up to this one. A child of fork() finds no lock that it may take.
  mutable std::atomic<std::uint64_t> num_dropped_{0};
};

}  // namespace traingraph
