// SPDX-License-Identifier: MIT
// Where things live: persistent storage, plan arenas, readable results.
#include <algorithm>
#include <unordered_set>

#include "graph/tensor_state.h"
#include "runtime/plan_storage.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

void Session::reset_arenas() {
  const auto arena = [&](const char* label) {
    return std::make_shared<Arena>(context_, label);
  };
  arenas_ = {arena("step"), arena("phases"), arena("inference")};
  inputs_ = arena("inputs");
  constants_ = arena("constants");
  slots_ = arena("optimizer slots");
  accumulators_ = arena("gradient accumulators");
  // Parameters stay where they are; tensors know.
  if (!parameters_ || parameters_->context() != context_) {
    parameters_ = arena("parameters");
    statistics_ = arena("statistics");
  }
  placements_.clear();
  declared_.clear();
}

void Session::place_persistent(const Compilation& compilation) {
  shared_bytes_ = 0;
  std::unordered_set<const TensorState*> seen;
  const auto place_all = [&](const CompiledProgram& compiled) {
    for (const Value& value : compiled.assembled.program.values()) {
      if (value.role == Role::Result) continue;
      if (!seen.insert(value.tensor.get()).second) continue;
      auto& storage = placements_[value.tensor.get()];
      if (!storage) storage = place(value);
      const auto* own = dynamic_cast<ArenaStorage*>(storage.get());
      const bool is_shared =
          value.role == Role::Variable && own && own->arena != parameters_ &&
          own->arena != statistics_ && own->arena != slots_ &&
          own->arena != accumulators_;
      if (is_shared) shared_bytes_ += storage->bytes;
    }
  };
  if (compilation.training) place_all(*compilation.training);
  place_all(compilation.inference);
  for (const Tensor& hidden : {declaration_.rates, declaration_.random_state}) {
    auto& storage = placements_[hidden.state().get()];
    if (!storage) storage = place_in(inputs_, hidden.state());
  }
  for (auto& [parameter, tensors] : declaration_.slots) {
    const auto state = std::ranges::find_if(
        placements_, [&](const auto& p) { return p.first->id == parameter; });
    if (state == placements_.end()) continue;
    auto& slots = const_cast<TensorState*>(state->first)->slots;
    for (std::size_t i = 0; i < tensors.size() && i < slots.size(); ++i) {
      const auto placed = placements_.find(tensors[i].state().get());
      if (placed != placements_.end()) slots[i].device = placed->second;
    }
  }
}

std::shared_ptr<DeviceStorage> Session::place(const Value& value) {
  if (value.role == Role::Input) return place_in(inputs_, value.tensor);
  if (value.role == Role::Constant) return place_in(constants_, value.tensor);
  for (const auto& [id, tensors] : declaration_.slots) {
    for (const Tensor& slot : tensors) {
      if (slot.state() == value.tensor) return place_in(slots_, value.tensor);
    }
  }
  for (const auto& [id, accumulator] : declaration_.accumulators) {
    if (accumulator.state() == value.tensor) {
      return place_in(accumulators_, value.tensor);
    }
  }
  return place_variable(value.tensor);
}

std::shared_ptr<DeviceStorage> Session::place_in(
    const std::shared_ptr<Arena>& arena,
    const std::shared_ptr<TensorState>& tensor) {
  auto storage =
      std::make_shared<ArenaStorage>(arena, tensor->desc.size_bytes());
  if (tensor->data.bytes) arena->upload_on_allocation(storage->offset, tensor);
  return storage;
}

std::shared_ptr<DeviceStorage> Session::place_variable(
    const std::shared_ptr<TensorState>& tensor) {
  std::scoped_lock lock(tensor->mutex);
  if (tensor->device && tensor->device->context == context_) {
    return tensor->device;
  }
  const bool is_statistic =
      std::ranges::any_of(declaration_.graphs, [&](const auto& graph) {
        return std::ranges::any_of(graph->records, [&](const auto& record) {
          const auto tensors = record.layer->statistics();
          return std::ranges::any_of(
              tensors, [&](const Tensor& t) { return t.state() == tensor; });
        });
      });
  const auto& arena = is_statistic ? statistics_ : parameters_;
  if (arena->is_allocated()) {
    throw InternalError("a parameter appeared after its arena was allocated");
  }
  tensor->device = place_in(arena, tensor);
  return tensor->device;
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
    }
    arena.ensure(sizes[kind]);
  }
}

void Session::forget_bindings() {
  for (const auto& specialization : specializations_) {
    for (auto& segment : specialization->segments) segment.reset();
  }
}

Tensor Session::readable(TensorDescriptor desc, std::string label,
                         std::function<ValueId(const Assembled&)> find) {
  Tensor tensor(std::move(desc), std::move(label));
  tensor.state()->device =
      std::make_shared<PlanStorage>(context_, tensor.descriptor().size_bytes(),
                                    weak_from_this(), std::move(find));
  return tensor;
}

void Session::create_readable_tensors() {
  gradient_tensors_.clear();
  const Assembled& main = main_->compilation.training
                              ? main_->compilation.training->assembled
                              : main_->compilation.inference.assembled;
  const auto make_readable = [&](const Tensor& tensor) {
    const std::uint64_t id = tensor.tensor_id();
    std::scoped_lock lock(tensor.state()->mutex);
    tensor.state()->device = std::make_shared<PlanStorage>(
        context_, tensor.descriptor().size_bytes(), weak_from_this(),
        [id](const Assembled& a) {
          const auto it = a.value_of.find(id);
          return it == a.value_of.end() ? kNoValue : it->second;
        });
  };
  for (const auto& [name, tensor] : declaration_.outputs) {
    const ValueId value = main.find(tensor);
    if (main.program.value(value).role == Role::Result) make_readable(tensor);
  }
  const auto add_gradient = [&](const Tensor& of) {
    const std::uint64_t id = of.tensor_id();
    gradient_tensors_.emplace(
        id, readable(of.descriptor(), "gradient of " + of.label(),
                     [id](const Assembled& a) {
                       const auto value = a.value_of.find(id);
                       if (value == a.value_of.end()) return kNoValue;
                       const auto it = a.gradient_of.find(value->second);
                       return it == a.gradient_of.end() ? kNoValue : it->second;
                     }));
  };
  for (const auto& [tensor, gradient] : main.input_gradients) {
    add_gradient(tensor);
  }
  if (!declaration_.debugs_layers) return;
  for (const LayerRecord& record : main.records) {
    if (!record.layer->is_debugging_enabled) continue;
    for (const Tensor& tensor : record.results) {
      make_readable(tensor);
      if (main.gradient_of.contains(main.find(tensor))) add_gradient(tensor);
    }
  }
}

}  // namespace traingraph
