// SPDX-License-Identifier: MIT
// Ranks: the processes behind a collective, and waits for them that end. What
// fails, or takes longer than the deadline, ends all that follows: the others
// may be anywhere. One thread at a time uses it.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/exchange/board.h"
#include "runtime/exchange/operation.h"
#include "traingraph/collective.h"

namespace traingraph {

class Ranks {
 public:
  /// Null: there is one process.
  Ranks(std::shared_ptr<Collective> collective, double timeout);

  int rank() const { return rank_; }
  int size() const { return size_; }
  Collective& collective() const { return *collective_; }
  std::string name() const;  // of this one: "rank 3"

  /// Null: headers go by the transport. Nothing is in flight.
  void use(std::shared_ptr<Board> board) { board_ = std::move(board); }
  Board* board() const { return board_.get(); }
  /// What fails for `other`, which has the same collective, fails for this from
  /// now on, and the other way round. Nothing is in flight.
  void join(const Ranks& other) { failure_ = other.failure_; }
  /// Throws StateError once something has failed.
  void require_whole(const char* call) const;
  /// Until `operation` is over. `what` names it when something is wrong,
  /// `gives_up` is asked meanwhile. Throws DeviceError, CancelledError, and
  /// what `gives_up` throws.
  void wait(Operation& operation, const char* call,
            const std::function<std::string()>& what,
            const std::function<bool()>& gives_up);
  /// The same until `is_over`, which is polled, and does not block.
  void poll(const std::function<bool()>& is_over, const char* call,
            const std::function<std::string()>& what,
            const std::function<bool()>& gives_up);
  /// From now on nothing is whole; the others notice soon.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  /// `wait(stops)` is false when `stops` has been true.
  template <class Wait>
  void wait_by(const Wait& wait, const char* call,
               const std::function<std::string()>& what,
               const std::function<bool()>& gives_up);

  std::shared_ptr<Collective> collective_;
  std::shared_ptr<Board> board_;
  double timeout_;
  int rank_ = 0, size_ = 1;
  /// Of all that have joined.
  struct Failure {
    std::mutex mutex;  // executions end on other threads than they run on
    std::string text;  // empty: none yet
  };
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();
};

/// "rank 3"
std::string rank_text(int rank);

}  // namespace traingraph
