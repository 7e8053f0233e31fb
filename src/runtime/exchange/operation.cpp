// SPDX-License-Identifier: MIT
#include "runtime/exchange/operation.h"

#include "runtime/device/device_wait.h"

namespace traingraph {

void Operation::end(std::exception_ptr error) noexcept {
  std::shared_ptr<const void> memory;
  std::shared_ptr<Operation> self;  // dropped last, without the lock
  {
    const std::scoped_lock lock(mutex_);
    if (!self_) return;  // a transport that calls twice
    memory.swap(memory_);
    self.swap(self_);
  }
  memory.reset();  // who waits may then count on it
  const std::scoped_lock lock(mutex_);
  error_ = std::move(error);
  ended_ = Clock::now();
  is_over_ = true;
  changed_.notify_all();
}

bool Operation::wait(const std::function<bool()>& is_aborted) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterruptInterval,
                            [this] { return is_over_; })) {
    lock.unlock();  // it may wait for a host language
    if (is_aborted()) return false;
    lock.lock();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

}  // namespace traingraph
