// SPDX-License-Identifier: MIT
#include "runtime/execution/state_pool.h"

#include <algorithm>

#include "runtime/execution/in_flight.h"

namespace traingraph {

std::shared_ptr<ExecutionState> StatePool::acquire() {
  constexpr int kMaxFree = 8;
  constexpr std::size_t kMaxPooled = kMaxInFlight + kMaxFree;
  std::shared_ptr<ExecutionState> acquired;
  int num_free = 0;
  std::erase_if(states_, [&](const std::shared_ptr<ExecutionState>& state) {
    if (state.use_count() != 1) return false;
    // use_count() orders nothing; giving up a copy pairs with the release of
    // the last other owner (ThreadSanitizer does not see a fence).
    std::shared_ptr<ExecutionState>(state).reset();
    state->reset();
    if (num_free++ == 0) {
      acquired = state;
      return false;
    }
    return num_free > kMaxFree;
  });
  if (acquired) return acquired;
  if (states_.size() >= kMaxPooled) {
    std::erase_if(states_, [](const auto& state) { return state->is_done(); });
  }
  states_.push_back(std::make_shared<ExecutionState>());
  return states_.back();
}

void StatePool::prepare(DeviceContext& context, ExecutionState::Hidden hidden) {
  constexpr std::size_t kNumPrepared = 4;
  if (states_.size() != 1) return;
  while (states_.size() < kNumPrepared) {
    states_.push_back(std::make_shared<ExecutionState>());
  }
  for (const auto& state : states_) {
    state->prepare_like(context, *states_.front(), hidden);
  }
}

std::size_t StatePool::staging_bytes() const {
  std::size_t bytes = 0;
  for (const auto& state : states_) bytes += state->staging_bytes();
  return bytes;
}

}  // namespace traingraph
