// SPDX-License-Identifier: MIT
// What the host supplies to one execution: data, random state, rates. While
// nothing is in flight it goes straight to the device's memory, else through
// the execution's staging buffer.
#include <algorithm>
#include <array>
#include <cstring>

#include "graph/tensor_state.h"
#include "runtime/session.h"

namespace traingraph {

std::byte* Session::room_for(ExecutionState& slot, const Tensor& tensor,
                             std::size_t size) {
  const auto placed = placements_.find(tensor.state().get());
  if (placed == placements_.end()) return nullptr;
  const Location to = placed->second->locate();
  // Memory of linked sessions may be in use by work of the others.
  const bool is_idle = !link_ && in_flight_.is_idle();
  return is_idle ? to.host() : slot.stage(*context_, to, size);
}

void Session::write(ExecutionState& slot, const Tensor& tensor,
                    const void* bytes, std::size_t size) {
  std::byte* const room = room_for(slot, tensor, size);
  if (room) std::memcpy(room, bytes, size);
}

void Session::write_hidden(ExecutionState& slot, Segment segment) {
  if (segment == Segment::Step || segment == Segment::Forward) {
    const std::array<std::uint32_t, 4> words{
        static_cast<std::uint32_t>(seed_),
        static_cast<std::uint32_t>(seed_ >> 32),
        static_cast<std::uint32_t>(random_step_),
        static_cast<std::uint32_t>(random_step_ >> 32)};
    write(slot, declaration_.random_state, words.data(), sizeof(words));
  }
  if (segment == Segment::Step || segment == Segment::Gradient) {
    write_factors(slot);
  }
  if (segment == Segment::Step || segment == Segment::Update) {
    write_rates(slot);
  }
}

/// A linked session that updates a second time did not wait for the others.
void Session::start_next_step(Optimizer& optimizer) {
  auto& updated = link_->optimizers.at(&optimizer).updated;
  if (std::ranges::find(updated, this) == updated.end()) return;
  updated.clear();
  move_time_step(optimizer, +1);
}

void Session::write_rates(ExecutionState& slot) {
  if (!declaration_.optimizer) return;
  Optimizer& optimizer = *declaration_.optimizer;
  std::array<float, 4> rates{};
  std::byte* const room = room_for(slot, declaration_.rates, sizeof(rates));
  for (Contribution* used : accumulation_.used_by_update) {
    slot.depend_on(*used);
  }
  if (link_) start_next_step(optimizer);  // nothing fails from here on
  rates = {optimizer.learning_rate(), optimizer.corrected_rate(),
           optimizer.applies_gradient_clipping() ? 1.0f : 0.0f, 0.0f};
  if (room) std::memcpy(room, rates.data(), sizeof(rates));
}

/// An optimizer that linked graphs share advances after the last of them.
void Session::count_update(ExecutionState& slot) {
  const OptimizerPtr& optimizer = declaration_.optimizer;
  if (!optimizer) return;
  bool is_last = true;
  if (link_) {
    for (Contribution* used : accumulation_.used_by_update) used->reset();
    auto& [users, updated] = link_->optimizers.at(optimizer.get());
    const bool is_user = std::ranges::find(users, this) != users.end();
    if (is_user) updated.push_back(this);
    is_last = is_user && updated.size() >= users.size();
    if (is_last) updated.clear();
  }
  if (!is_last) return;
  move_time_step(*optimizer, +1);
  slot.counts_step_of(optimizer);
}

/// 1 adds to what another linked graph has left, 0 starts afresh: also when
/// that graph's gradient pass failed.
void Session::write_factors(ExecutionState& slot) {
  auto& factors = accumulation_.factors;
  if (factors.empty()) return;
  std::ranges::fill(factors, 0.0f);
  for (std::size_t i = 0; link_ && i < factors.size(); ++i) {
    const Contribution* contribution = accumulation_.added_to[i];
    if (!contribution || !*contribution || (*contribution)->error()) continue;
    factors[i] = 1;
    slot.depend_on(*contribution);
  }
  for (Contribution* used : accumulation_.used_by_gradient) {
    slot.depend_on(*used);
  }
  write(slot, declaration_.accumulation, factors.data(),
        factors.size() * sizeof(float));
}

void Session::count_contributions(const Contribution& slot) {
  if (!link_) return;
  for (std::size_t i = 0; i < accumulation_.added_to.size(); ++i) {
    Contribution* const contribution = accumulation_.added_to[i];
    if (contribution && accumulation_.is_live[i]) *contribution = slot;
  }
  for (Contribution* used : accumulation_.used_by_gradient) used->reset();
}

}  // namespace traingraph
