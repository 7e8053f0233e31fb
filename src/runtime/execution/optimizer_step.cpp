// SPDX-License-Identifier: MIT
#include "runtime/execution/optimizer_step.h"

#include <cstring>

namespace traingraph {

void OptimizerStep::stage(const Call& call, HostWriter& writer,
                          ExecutionState& state) {
  if (!updates(call.entry_point) || !optimizer_) return;
  state.hyperparameters.at =
      writer.room_for(tensor_, sizeof(state.hyperparameters.values));
  TimeSteps::take_rule(*optimizer_, state.hyperparameters.rule);
}

/// An optimizer that linked graphs share advances after the last of them.
void OptimizerStep::commit(
    const Call& call, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (!updates(call.entry_point) || !optimizer_) return;
  const StepNumber number = TimeSteps::next(*optimizer_);
  ExecutionState::Hyperparameters& hyperparameters = state->hyperparameters;
  const float rate = hyperparameters.rule.at(number.value);
  hyperparameters.optimizer = optimizer_;
  hyperparameters.number = number;
  hyperparameters.values = {
      .learning_rate = rate,
      .corrected_rate = optimizer_->corrected(rate, number.value),
      .clips = optimizer_->applies_gradient_clipping() ? 1.0f : 0.0f,
      .time_step = static_cast<float>(number.value)};
  if (hyperparameters.at)
    std::memcpy(hyperparameters.at, &hyperparameters.values,
                sizeof(hyperparameters.values));
  if (!linked_.ends_step()) return;
  TimeSteps::advance(*optimizer_);
  hyperparameters.counts = true;
}

}  // namespace traingraph
