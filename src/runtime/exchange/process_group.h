// SPDX-License-Identifier: MIT
// ProcessGroup: the processes behind a collective, and waits for them that end.
// What fails, or takes longer than the deadline, ends all that follows: the
// others may be anywhere. One thread at a time uses it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/exchange/operation.h"
#include "traingraph/collective.h"

namespace traingraph {

class ProcessGroup {
 public:
  /// Null: there is one process.
  ProcessGroup(std::shared_ptr<Collective> collective, double timeout);

  int rank() const { return rank_; }
  int size() const { return size_; }
  Collective& collective() const { return *collective_; }
  std::string name() const;  // of this one: "rank 3"

  /// What fails for `other`, which has the same collective, fails for this from
  /// now on, and the other way round. Nothing is in flight.
  void join(const ProcessGroup& other) { failure_ = other.failure_; }
  /// Throws StateError once something has failed.
  void require_healthy(const char* call) const;
  /// Until `operation` is over. `what` names it when something is wrong,
  /// `is_aborted` is asked meanwhile. Throws DeviceError, CancelledError, and
  /// what `is_aborted` throws.
  void wait(Operation& operation, const char* call,
            const std::function<std::string()>& what,
            const std::function<bool()>& is_aborted);
  /// From now on the group is not healthy; the others notice soon.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  std::shared_ptr<Collective> collective_;
  double timeout_;
  int rank_ = 0, size_ = 1;
  /// Of all that have joined.
  struct Failure {
    std::mutex mutex;  // executions end on other threads than they run on
    bool is_there = false;
    std::string text;
  };
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();
};

/// How many graphs were compiled with a collective, with this one. All of its
/// ranks compile the same ones in the same order.
std::int32_t count_compiled(const std::shared_ptr<Collective>& collective);

}  // namespace traingraph
