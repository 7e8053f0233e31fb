// SPDX-License-Identifier: MIT
// Waiting for device threads. A wait can be interrupted (interrupt.h), and is
// an error in a forked child: threads stay with the parent.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "base/condition_variable.h"

namespace traingraph {

/// An interrupt may go unnoticed for so long.
inline constexpr std::chrono::milliseconds kInterruptInterval{50};

/// Is called after starting a thread that executions depend on.
void note_device_thread();
/// This process was forked from one that had device threads.
bool has_lost_device_threads() noexcept;
/// Returns why no device can be used; empty unless has_lost_device_threads().
std::string reason_lost_device_threads();
/// Throws DeviceError with that reason.
void require_device_threads();
/// The process exits: waits for other processes do not last any more.
void note_exit() noexcept;
bool is_exiting() noexcept;
/// Calls the check of set_interrupt_check(), if any.
void check_interrupt();

/// `changed.wait(lock, is_over)` for what a device thread does. The lock is
/// free while the check runs, and held when this returns or throws.
template <class Predicate>
void wait_for_device(std::condition_variable& changed,
                     std::unique_lock<std::mutex>& lock,
                     const Predicate& is_over) {
  struct Unlocked {
    explicit Unlocked(std::unique_lock<std::mutex>& l) : lock(l) {
      lock.unlock();
    }
    ~Unlocked() { lock.lock(); }
    std::unique_lock<std::mutex>& lock;
  };
  require_device_threads();
  while (!changed.wait_for(lock, kInterruptInterval, is_over)) {
    const Unlocked unlocked(lock);
    check_interrupt();
  }
}

}  // namespace traingraph
