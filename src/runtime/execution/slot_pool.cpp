// SPDX-License-Identifier: MIT
#include "runtime/execution/slot_pool.h"

#include <algorithm>

#include "runtime/execution/in_flight.h"

namespace traingraph {

std::shared_ptr<ExecutionState> SlotPool::acquire() {
  constexpr int kMaxFree = 8;
  constexpr std::size_t kMaxPooled = kMaxInFlight + kMaxFree;
  std::shared_ptr<ExecutionState> acquired;
  int num_free = 0;
  std::erase_if(slots_, [&](const std::shared_ptr<ExecutionState>& slot) {
    if (slot.use_count() != 1) return false;
    // use_count() orders nothing; giving up a copy pairs with the release of
    // the last other owner (ThreadSanitizer does not see a fence).
    std::shared_ptr<ExecutionState>(slot).reset();
    slot->reset();
    if (num_free++ == 0) {
      acquired = slot;
      return false;
    }
    return num_free > kMaxFree;
  });
  if (acquired) return acquired;
  if (slots_.size() >= kMaxPooled) {
    std::erase_if(slots_, [](const auto& slot) { return slot->is_done(); });
  }
  slots_.push_back(std::make_shared<ExecutionState>());
  return slots_.back();
}

void SlotPool::prepare(DeviceContext& context, ExecutionState::Hidden hidden) {
  constexpr std::size_t kNumPrepared = 4;
  if (slots_.size() != 1) return;
  while (slots_.size() < kNumPrepared) {
    slots_.push_back(std::make_shared<ExecutionState>());
  }
  for (const auto& slot : slots_) {
    slot->prepare_like(context, *slots_.front(), hidden);
  }
}

std::size_t SlotPool::staging_bytes() const {
  std::size_t bytes = 0;
  for (const auto& slot : slots_) bytes += slot->staging_bytes();
  return bytes;
}

}  // namespace traingraph
