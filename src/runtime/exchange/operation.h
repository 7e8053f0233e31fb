// SPDX-License-Identifier: MIT
// Operation: one operation of a collective, which is begun and waited for by
// threads of this process, and ended by a thread of the transport. It is used
// again and again; beginning allocates nothing.
#pragma once

#include <chrono>
#include <cstdint>
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
  Operation();
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// `start` begins it with the callback it is given. This object, and
  /// `memory`, stay until the transport calls that, even if nobody waits any
  /// more; who has waited knows that `memory` is let go. Only the first call
  /// counts, however late others come.
  template <class F>
  void begin(std::shared_ptr<const void> memory, F&& start) {
    {
      const std::scoped_lock lock(mutex_);
      if (!is_over_) throw InternalError("an operation is begun twice");
      memory_ = std::move(memory);
      is_over_ = false;
      error_ = nullptr;
      begun_ = Clock::now();
    }
    const Collective::Done done = open_ticket();
    try {
      std::forward<F>(start)(done);
    } catch (...) {
      done(std::current_exception());
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

  /// Where a call of the transport finds the operation that it ends. Tickets
  /// are never freed but serve the next operation, so that a call which comes
  /// when its operation is gone still finds that it is too late.
  struct Ticket {
    std::mutex mutex;
    std::uint64_t number = 0;              // goes up with each operation
    std::shared_ptr<Operation> operation;  // while it is under way
    Ticket* next = nullptr;                // of those that are free
  };
  /// The callback: so small that a std::function holds it without the heap.
  struct Ending {
    Ticket* ticket;
    std::uint64_t number;
    void operator()(std::exception_ptr error) const noexcept;
  };

  struct Tickets;
  Ending open_ticket();
  void end(std::exception_ptr error) noexcept;

  Ticket* ticket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = true;
  Clock::time_point begun_, ended_;
  std::exception_ptr error_;
  std::shared_ptr<const void> memory_;
};

}  // namespace traingraph
