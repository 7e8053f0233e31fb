// SPDX-License-Identifier: MIT
// PhaseOrder: which separate phases have run, and which executions the host may
// read results and gradients of.
#pragma once

#include "runtime/execution/participant.h"

namespace traingraph {

class PhaseOrder final : public Participant {
 public:
  /// After compile. `keeps_gradients`: they are added up outside the arena.
  void start(bool keeps_gradients) { keeps_gradients_ = keeps_gradients; }
  /// Nothing that ran before counts any more.
  void forget();
  /// The forward and gradient passes so far do not count any more.
  void forget_phases() noexcept { state_ = State::Clean; }
  /// What a plan has computed is gone with its arena.
  void forget_results(PlanKind kind);

  bool has_forward() const { return state_ == State::ForwardDone; }
  bool has_gradient() const { return state_ == State::GradientDone; }
  /// Of the phases so far.
  std::int64_t batch() const { return batch_; }
  const std::shared_ptr<ExecutionState>& last_phase() const {
    return last_phase_;
  }
  /// The last execution that computed readable values; null: none.
  const std::shared_ptr<ExecutionState>& last() const { return last_; }
  /// The last gradient pass of separate phases; null: none.
  const std::shared_ptr<ExecutionState>& last_gradient() const {
    return last_gradient_;
  }

  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;

 private:
  enum class State { Clean, ForwardDone, GradientDone };

  State state_ = State::Clean;
  std::int64_t batch_ = 0;
  bool keeps_gradients_ = false;
  std::shared_ptr<ExecutionState> last_, last_gradient_, last_phase_;
};

}  // namespace traingraph
