// SPDX-License-Identifier: MIT
// MeasuredRuns: what the last executions with per-layer profiling took, unit by
// unit. It keeps times, not the executions with their buffers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/execution/participant.h"

namespace traingraph {

/// An execution by itself, or forward, gradient and update; null: not measured.
using MeasuredRun = std::array<std::shared_ptr<UnitTimes>, 3>;

class MeasuredRuns final : public Participant {
 public:
  static constexpr std::size_t kMax = 64;

  /// For an execution that begins; those of forgotten runs are used again.
  std::shared_ptr<UnitTimes> take(
      EntryPoint entry_point,
      std::shared_ptr<const Specialization> specialization,
      std::shared_ptr<const BoundEntryPoint> bound);
  /// Of an execution that is measured. A gradient pass and an update go on with
  /// the run of the pass before them.
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;
  void forget();
  /// The execution that was added last; null: none.
  const std::shared_ptr<ExecutionState>& last() const { return last_; }
  /// Up to `count`, the last one first.
  std::vector<MeasuredRun> newest(std::size_t count) const;

 private:
  std::array<MeasuredRun, kMax> runs_;  // a ring
  std::size_t num_runs_ = 0;            // ever
  MeasuredRun spare_;                   // the run that was forgotten last
  std::shared_ptr<ExecutionState> last_;
};

/// Of one program, and the same entry points of it.
bool are_alike(const MeasuredRun& a, const MeasuredRun& b);
bool succeeded(const MeasuredRun& run);

}  // namespace traingraph
