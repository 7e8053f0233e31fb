// SPDX-License-Identifier: MIT
#include "runtime/execution/phase_order.h"

namespace traingraph {

void PhaseOrder::forget() {
  last_.reset();
  last_phase_.reset();
  last_gradient_.reset();
  forget_phases();
}

void PhaseOrder::forget_results(PlanKind kind) {
  if (kind == PlanKind::Phases) state_ = State::Clean;
  if (last_ && plan_of(last_->entry_point) == kind) last_.reset();
  if (kind == PlanKind::Phases && !keeps_gradients_) last_gradient_.reset();
}

void PhaseOrder::commit(const Call& call,
                        const std::shared_ptr<ExecutionState>& state) noexcept {
  const EntryPoint entry_point = call.entry_point;
  if (entry_point != EntryPoint::Update) last_ = state;
  // Inference has a plan of its own: it leaves gradients to the update, but
  // writes over the inputs that a gradient pass reads.
  if (!is_inference(entry_point) || state_ != State::GradientDone) {
    state_ = State::Clean;
    last_phase_.reset();
  }
  if (entry_point == EntryPoint::Step) last_gradient_.reset();
  if (entry_point != EntryPoint::Forward &&
      entry_point != EntryPoint::Gradient) {
    return;
  }
  batch_ = call.batch;
  last_phase_ = state;
  if (entry_point == EntryPoint::Gradient) {
    state_ = State::GradientDone;
    last_gradient_ = state;
    return;
  }
  state_ = State::ForwardDone;
  // Another batch size has another layout: its forward writes over gradients
  // that are in the arena.
  const bool is_other =
      last_gradient_ && last_gradient_->specialization != state->specialization;
  if (is_other && !keeps_gradients_) last_gradient_.reset();
}

}  // namespace traingraph
