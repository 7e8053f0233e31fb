// SPDX-License-Identifier: MIT
#include "runtime/execution/exchange_turn.h"

#include <utility>

namespace traingraph {

void ExchangeTurn::start(std::shared_ptr<const MergedGraph> graph) {
  graph_ = std::move(graph);
}

/// The whole; an exchange makes a part of it.
void ExchangeTurn::stage(const Call& call, HostWriter& writer,
                         ExecutionState&) {
  if (!differentiates(call.entry_point)) return;
  const float whole = 1;
  const auto write = [&](TensorIndex weight) {
    writer.write(weight, &whole, sizeof(whole));
  };
  write(graph_->gradient_weight);
  for (const TensorIndex weight : graph_->user_weights) {
    if (weight != graph_->gradient_weight) write(weight);
  }
}

void ExchangeTurn::commit(
    const Call& call, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (!exchange_ || state->bound->host.events.empty()) return;
  const bool is_update = call.entry_point == EntryPoint::Update;
  const bool is_averaged = call.pass.by == GradientAccumulation::Mean &&
                           call.pass.adds_to != nullptr;
  const std::int64_t waiting = accumulation_.samples();
  state->host.start(exchange_, state->bound->host,
                    {.name = call.name,
                     .entry_point = call.entry_point,
                     .number = exchange_->next_call(),
                     .samples = is_update ? waiting : call.batch,
                     .waiting = is_averaged ? waiting : 0,
                     .changes = exchange_->num_changes()});
}

}  // namespace traingraph
