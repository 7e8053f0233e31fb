// SPDX-License-Identifier: MIT
#include "runtime/execution/optimizer_step.h"

#include <cstring>

namespace traingraph {

void OptimizerStep::stage(const Call& call, HostWriter& writer,
                          ExecutionState& state) {
  if (!updates(call.entry_point) || !optimizer_) return;
  state.rates.at = writer.room_for(tensor_, sizeof(state.rates.values));
  TimeSteps::take_rule(*optimizer_, state.rates.rule);
}

/// An optimizer that linked graphs share advances after the last of them.
void OptimizerStep::commit(
    const Call& call, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (!updates(call.entry_point) || !optimizer_) return;
  const StepNumber number = TimeSteps::next(*optimizer_);
  ExecutionState::Rates& rates = state->rates;
  const float rate = rates.rule.at(number.value);
  rates.optimizer = optimizer_;
  rates.number = number;
  rates.values = {rate, optimizer_->corrected(rate, number.value),
                  optimizer_->applies_gradient_clipping() ? 1.0f : 0.0f,
                  static_cast<float>(number.value)};
  if (rates.at)
    std::memcpy(rates.at, rates.values.data(), sizeof(rates.values));
  if (!linked_.ends_step()) return;
  TimeSteps::advance(*optimizer_);
  rates.counts = true;
}

}  // namespace traingraph
