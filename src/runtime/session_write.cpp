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

void Session::write(ExecutionState& slot, const Tensor& tensor,
                    const void* bytes, std::size_t size) {
  const auto placed = placements_.find(tensor.state().get());
  if (placed == placements_.end()) return;  // nothing reads it in this mode
  const Location to = placed->second->locate();
  // Memory of linked sessions may be in use by work of the others.
  const bool is_idle =
      !link_ && in_flight_.load(std::memory_order_acquire) == 0;
  std::memcpy(is_idle ? to.host() : slot.stage(*context_, to, size), bytes,
              size);
}

void Session::write_list(ExecutionState& slot, DataList data,
                         const TensorMap& declared, std::int64_t batch) {
  for (const NamedData& item : data) {
    const auto it = std::ranges::find(
        declared, item.name,
        [](const auto& entry) -> const auto& { return entry.first; });
    write(slot, it->second, item.data.bytes, bytes_of(it->second, batch));
    const auto known = std::ranges::find_if(declared_, [&](const auto& entry) {
      return entry.second.tensor == it->second;
    });
    if (known == declared_.end()) continue;
    const bool is_batched = it->second.shape()[0] == batch_;
    known->second.written_batch = is_batched ? batch : batch_;
  }
}

void Session::write_hidden(ExecutionState& slot, Segment segment) {
  if (segment == Segment::Step || segment == Segment::Forward) {
    const std::uint64_t step = random_step_++;
    const std::array<std::uint32_t, 4> words{
        static_cast<std::uint32_t>(seed_),
        static_cast<std::uint32_t>(seed_ >> 32),
        static_cast<std::uint32_t>(step),
        static_cast<std::uint32_t>(step >> 32)};
    write(slot, declaration_.random_state, words.data(), sizeof(words));
  }
  if (segment == Segment::Step || segment == Segment::Gradient) {
    write_accumulation(slot);
  }
  if (segment == Segment::Step || segment == Segment::Update) {
    write_rates(slot);
  }
}

/// A linked session that updates a second time did not wait for the others.
void Session::start_next_step(Optimizer& optimizer) {
  std::scoped_lock lock(link_->mutex);
  auto& updated = link_->updated[&optimizer];
  if (std::ranges::find(updated, this) == updated.end()) return;
  updated.clear();
  optimizer.set_time_step(optimizer.time_step() + 1);
}

void Session::write_rates(ExecutionState& slot) {
  if (!declaration_.optimizer) return;
  Optimizer& optimizer = *declaration_.optimizer;
  if (link_) start_next_step(optimizer);
  const std::array<float, 4> rates{
      optimizer.learning_rate(), optimizer.corrected_rate(),
      optimizer.applies_gradient_clipping() ? 1.0f : 0.0f, 0.0f};
  write(slot, declaration_.rates, rates.data(), sizeof(rates));
  if (!link_) {
    optimizer.set_time_step(optimizer.time_step() + 1);
    return;
  }
  // An optimizer that linked graphs share advances after the last of them.
  std::scoped_lock lock(link_->mutex);
  auto& updated = link_->updated[&optimizer];
  const auto& users = link_->users[&optimizer];
  const bool is_user = std::ranges::find(users, this) != users.end();
  if (is_user) updated.push_back(this);
  if (is_user && updated.size() >= users.size()) {
    updated.clear();
    optimizer.set_time_step(optimizer.time_step() + 1);
  }
  for (const Tensor& parameter : trainable_parameters(declaration_)) {
    const auto it = declaration_.accumulators.find(parameter.tensor_id());
    if (it == declaration_.accumulators.end()) continue;
    const auto* storage = placements_[it->second.state().get()].get();
    const auto shared = link_->has_contribution.find(storage);
    const bool is_own =
        std::ranges::find(updated_elsewhere_, parameter.tensor_id()) ==
        updated_elsewhere_.end();
    if (shared != link_->has_contribution.end() && is_own) {
      shared->second = false;
    }
  }
}

/// 1 adds to what another linked graph has left, 0 starts afresh.
void Session::write_accumulation(ExecutionState& slot) {
  if (!declaration_.is_linkable || !declaration_.accumulation) return;
  std::vector<Tensor> accumulated = trainable_parameters(declaration_);
  for (const auto& [name, tensor] : declaration_.inputs) {
    accumulated.push_back(tensor);
  }
  std::vector<float> factors(accumulated.size(), 0.0f);
  if (link_) {
    std::scoped_lock lock(link_->mutex);
    for (std::size_t i = 0; i < accumulated.size(); ++i) {
      const auto it =
          declaration_.accumulators.find(accumulated[i].tensor_id());
      if (it == declaration_.accumulators.end()) continue;
      const auto placed = placements_.find(it->second.state().get());
      if (placed == placements_.end()) continue;
      const auto shared = link_->has_contribution.find(placed->second.get());
      if (shared == link_->has_contribution.end()) continue;
      factors[i] = shared->second ? 1.0f : 0.0f;
      shared->second = true;
    }
    for (const auto& user : declaration_.user_gradients) {
      const auto placed = placements_.find(user.gradient.state().get());
      if (placed == placements_.end()) continue;
      const auto shared = link_->has_contribution.find(placed->second.get());
      if (shared != link_->has_contribution.end()) shared->second = false;
    }
  }
  write(slot, declaration_.accumulation, factors.data(),
        factors.size() * sizeof(float));
}

}  // namespace traingraph
