// SPDX-License-Identifier: MIT
// Operation: one operation of a collective, which is begun and waited for by
// threads of this process, and ended by a thread of the transport. It is used
// again and again; beginning allocates nothing.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/condition_variable.h"
#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  /// `start` begins it with the callback it is given. This object, and
  /// `memory`, stay until the transport calls that, even if nobody waits any
  /// more; who has waited knows that `memory` is let go.
  template <class F>
  void begin(std::shared_ptr<const void> memory, F&& start) {
    {
      const std::scoped_lock lock(mutex_);
      if (!is_over_) throw InternalError("an operation is begun twice");
      self_ = shared_from_this();
      memory_ = std::move(memory);
      is_over_ = false;
      error_ = nullptr;
      begun_ = Clock::now();
    }
    const Collective::Done done = [this](std::exception_ptr error) noexcept {
      end(std::move(error));
    };
    try {
      std::forward<F>(start)(done);
    } catch (...) {
      end(std::current_exception());
    }
  }

  /// Until it is over, or `is_aborted`, which is asked every now and then, is
  /// true; then false. Throws what the transport ended it with.
  bool wait(const std::function<bool()>& is_aborted);
  /// That the last one took, after the wait for it.
  double seconds() const {
    return std::chrono::duration<double>(ended_ - begun_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void end(std::exception_ptr error) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = true;
  Clock::time_point begun_, ended_;
  std::exception_ptr error_;
  std::shared_ptr<Operation> self_;  // while it is under way
  std::shared_ptr<const void> memory_;
};

}  // namespace traingraph
