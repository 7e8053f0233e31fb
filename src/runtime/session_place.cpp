// SPDX-License-Identifier: MIT
// Where persistent values and plans live, and how parameters change devices.
#include <algorithm>
#include <unordered_set>

#include "graph/tensor_state.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Held while tensors get their places: graphs that share one must agree.
std::mutex& placement_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// Where the device keeps a tensor for good; null when it does not.
std::shared_ptr<ArenaStorage> persistent_storage(const TensorState& tensor) {
  std::scoped_lock lock(tensor.mutex);
  return std::dynamic_pointer_cast<ArenaStorage>(tensor.device);
}

/// Values that are not results, once per tensor.
std::vector<const Value*> persistent_values(const Compilation& compilation) {
  std::vector<const Value*> values;
  std::unordered_set<const TensorState*> seen;
  const auto add = [&](const CompiledProgram& compiled) {
    for (const Value& value : compiled.assembled.program.values()) {
      if (value.role == Role::Result) continue;
      if (seen.insert(value.tensor.get()).second) values.push_back(&value);
    }
  };
  if (compilation.training) add(*compilation.training);
  add(compilation.inference);
  return values;
}

}  // namespace

void Session::reset_arenas() {
  arenas_ = {std::make_shared<Arena>(context_, "step"),
             std::make_shared<Arena>(context_, "phases"),
             std::make_shared<Arena>(context_, "inference")};
  inputs_ = ArenaGroup(context_, "inputs");
  constants_ = ArenaGroup(context_, "constants");
  slots_ = ArenaGroup(context_, "optimizer slots");
  accumulators_ = ArenaGroup(context_, "gradient accumulators");
  placements_.clear();
  // Parameters stay where they are; tensors know.
  if (parameters_.context() != context_) {
    parameters_ = ArenaGroup(context_, "parameters");
    statistics_ = ArenaGroup(context_, "statistics");
  }
  parameters_.drop_unused();
  statistics_.drop_unused();
}

void Session::place_persistent(const Compilation& compilation) {
  std::scoped_lock lock(placement_mutex());
  const auto values = persistent_values(compilation);
  for (const Value* value : values) require_movable(*value);
  shared_bytes_ = 0;
  for (const Value* value : values) {
    auto& storage = placements_[value->tensor.get()];
    if (!storage) storage = place(*value);
    const auto groups = persistent_arenas();
    const bool is_own = std::ranges::any_of(groups, [&](const auto* group) {
      return group->contains(*storage->arena);
    });
    if (!is_own) shared_bytes_ += storage->bytes;
  }
  for (const Tensor& hidden : {declaration_.rates, declaration_.random_state}) {
    auto& storage = placements_[hidden.state().get()];
    if (!storage) storage = inputs_.place(hidden.state());
  }
  place_slots();
}

/// Optimizer buffers are read through the parameter they belong to.
void Session::place_slots() {
  for (const Tensor& parameter : trainable_parameters(declaration_)) {
    const auto tensors = declaration_.slots.find(parameter.tensor_id());
    if (tensors == declaration_.slots.end()) continue;
    std::scoped_lock lock(parameter.state()->mutex);
    auto& slots = parameter.state()->slots;
    for (std::size_t i = 0; i < tensors->second.size() && i < slots.size();
         ++i) {
      const auto placed = placements_.find(tensors->second[i].state().get());
      if (placed != placements_.end()) slots[i].device = placed->second;
    }
  }
}

std::shared_ptr<ArenaStorage> Session::place(const Value& value) {
  if (value.role == Role::Input) return inputs_.place(value.tensor);
  if (value.role == Role::Constant) return constants_.place(value.tensor);
  for (const auto& [id, tensors] : declaration_.slots) {
    for (const Tensor& slot : tensors) {
      if (slot.state() == value.tensor) return slots_.place(value.tensor);
    }
  }
  for (const auto& [id, accumulator] : declaration_.accumulators) {
    if (accumulator.state() == value.tensor) {
      return accumulators_.place(value.tensor);
    }
  }
  return place_variable(value.tensor);
}

/// A variable stays where it is, or comes from another device with its newest
/// value.
std::shared_ptr<ArenaStorage> Session::place_variable(
    const std::shared_ptr<TensorState>& tensor) {
  const auto current = persistent_storage(*tensor);
  if (current && current->context == context_) return current;
  if (current && current->arena->is_allocated()) {
    Tensor(tensor).synchronize_data();
  }
  ArenaGroup& arenas = is_statistic(tensor) ? statistics_ : parameters_;
  const auto placed = arenas.place(tensor);
  std::scoped_lock lock(tensor->mutex);
  tensor->device = placed;
  return placed;
}

/// Two devices would train two copies of one parameter, so it moves only when
/// no graph holds its place on the other.
void Session::require_movable(const Value& value) const {
  if (value.role != Role::Variable) return;
  const auto storage = persistent_storage(*value.tensor);
  if (!storage || storage->context == context_) return;
  const auto is_held = [&] {
    return storage.use_count() > 2;  // the tensor's and this one
  };
  // Work in flight holds its graph.
  if (is_held()) storage->context->drain();
  if (!is_held()) return;
  const Tensor tensor(value.tensor);
  throw StateError(ErrorInfo{
      .op = "compile",
      .node = tensor.label(),
      .what = "a graph on another device still uses this parameter",
      .expected = std::string(to_string(storage->context->type())),
      .got = std::string(to_string(context_->type())),
      .hint = "Destroy that graph first, or compile both for one device."});
}

bool Session::is_statistic(const std::shared_ptr<TensorState>& tensor) const {
  return std::ranges::any_of(declaration_.graphs, [&](const auto& graph) {
    return std::ranges::any_of(graph->records, [&](const auto& record) {
      const auto tensors = record.layer->statistics();
      return std::ranges::any_of(
          tensors, [&](const Tensor& t) { return t.state() == tensor; });
    });
  });
}

void Session::size_plan_arenas(const Compilation& compilation) {
  const std::size_t sizes[] = {compilation.step.memory.arena_bytes,
                               compilation.phases.memory.arena_bytes,
                               compilation.inference_plan.memory.arena_bytes};
  for (int kind = 0; kind < 3; ++kind) {
    Arena& arena = *arenas_[kind];
    if (sizes[kind] <= arena.size_bytes()) continue;
    // A smaller batch that needs more than the compiled one: rare, but an
    // engine may choose an algorithm with a larger workspace for it.
    if (arena.is_allocated()) {
      wait_until_idle();
      forget_bindings();
      phase_ = PhaseState::Clean;
      if (last_ && plan_of(last_->segment) == PlanKind{kind}) last_.reset();
      if (PlanKind{kind} == PlanKind::Phases) last_gradient_.reset();
    }
    arena.ensure(sizes[kind]);
  }
}

}  // namespace traingraph
