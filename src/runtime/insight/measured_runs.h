// SPDX-License-Identifier: MIT
// MeasuredRuns: what the last executions with per-layer profiling took, unit by
// unit. It keeps times, not the executions with their buffers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/execution/batches.h"

namespace traingraph {

class ExecutionState;

/// Of an event of an ExchangePlan.
struct ExchangeTimes {
  double device = 0;    // that the device spent on it
  double transfer = 0;  // of the operation that it waited for
};

/// Of one execution; the device writes seconds while it runs.
struct UnitTimes {
  Segment segment;
  std::shared_ptr<const Specialization> specialization;
  std::shared_ptr<const BoundSegment> bound;
  std::vector<double> seconds;
  std::vector<ExchangeTimes> exchange;  // by event
  int ranks = 1;                        // that exchanged
  std::atomic<bool> succeeded = false;
};

/// An execution by itself, or forward, gradient and update; null: not measured.
using MeasuredRun = std::array<std::shared_ptr<UnitTimes>, 3>;

class MeasuredRuns {
 public:
  static constexpr std::size_t kMost = 64;

  /// For an execution that begins; those of forgotten runs are used again.
  std::shared_ptr<UnitTimes> take(
      Segment segment, std::shared_ptr<const Specialization> specialization,
      std::shared_ptr<const BoundSegment> bound);
  /// A gradient pass and an update go on with the run of `after`, the pass
  /// before them.
  void add(const std::shared_ptr<ExecutionState>& slot,
           const std::shared_ptr<ExecutionState>& after) noexcept;
  void forget() { *this = {}; }
  /// The execution that was added last; null: none.
  const std::shared_ptr<ExecutionState>& last() const { return last_; }
  /// Up to `count`, the last one first.
  std::vector<MeasuredRun> newest(std::size_t count) const;

 private:
  std::array<MeasuredRun, kMost> runs_;  // a ring
  std::size_t num_runs_ = 0;             // ever
  MeasuredRun spare_;                    // the run that was forgotten last
  std::shared_ptr<ExecutionState> last_;
};

/// Of one program, and the same segments of it.
bool are_alike(const MeasuredRun& a, const MeasuredRun& b);
bool succeeded(const MeasuredRun& run);

}  // namespace traingraph
