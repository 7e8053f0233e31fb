// SPDX-License-Identifier: MIT
// A mutex that threads lock in the order in which they called lock(). The
// thread that unlocks a std::mutex may lock it again at once, any number of
// times: compile() would wait for as long as another thread keeps submitting.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/condition_variable.h"

namespace traingraph {

class FairMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    const std::uint64_t ticket = next_++;
    changed_.wait(lock, [&] { return serving_ == ticket; });
  }
  void unlock() noexcept {
    const std::scoped_lock lock(mutex_);
    ++serving_;
    if (serving_ != next_) changed_.notify_all();
  }
  /// Threads that hold it (0 or 1) or wait for it; out of date at once.
  std::uint64_t num_users() const {
    const std::scoped_lock lock(mutex_);
    return next_ - serving_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0, serving_ = 0;
};

}  // namespace traingraph
