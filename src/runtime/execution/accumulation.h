// SPDX-License-Identifier: MIT
// Accumulation: which gradients wait for the update, and how a pass joins them.
//
//   pass of b samples, when those of B samples wait
//     none, or nothing waits   sum = g
//     sum                      sum = sum + g
//     mean                     sum = B / (B + b) * sum + b / (B + b) * g
//
// A pass depends on the one before that it adds to: half of a sum counts
// nowhere.
#pragma once

#include <cstdint>
#include <memory>

#include "compiler/loss_reduction.h"
#include "runtime/execution/participant.h"

namespace traingraph {

class Accumulation final : public Participant {
 public:
  /// After compile; nothing waits.
  void start(const MergedGraph& graph);
  /// What a pass does. `is_shared`: its accumulators are other graphs', too.
  /// Throws StateError, InvalidArgument.
  GradientPass pass(const MergedGraph& graph, GradientAccumulation by,
                    std::int64_t batch, bool is_shared) const;
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;
  /// That wait for the update.
  std::int64_t samples() const { return samples_; }
  /// The next pass begins anew.
  void forget() noexcept {
    last_.reset();
    samples_ = 0;
  }

 private:
  LossReduction losses_;
  std::shared_ptr<ExecutionState> last_;  // null: nothing waits
  std::int64_t samples_ = 0;              // that wait
  GradientAccumulation by_ =
      GradientAccumulation::None;  // how they were joined
};

}  // namespace traingraph
