// SPDX-License-Identifier: MIT
#include "runtime/memory/placement.h"

#include <algorithm>

#include "base/checked.h"
#include "graph/tensor_state.h"
#include "runtime/memory/transfer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr const char* kLabels[] = {"parameters",      "statistics",
                                   "optimizer slots", "inputs",
                                   "constants",       "gradient accumulators"};

/// The mutex is held while tensors get their places: graphs that share one must
/// agree.
std::mutex& placement_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// Returns where the device keeps a tensor for good; null when it does not.
std::shared_ptr<ArenaStorage> persistent_storage(const TensorState& tensor) {
  std::scoped_lock lock(tensor.mutex);
  return std::dynamic_pointer_cast<ArenaStorage>(tensor.device);
}

/// Values that are not results, once per tensor, in order.
std::vector<const Value*> persistent_values(const Compilation& compilation) {
  std::vector<const Value*> values;
  std::vector<bool> seen(compilation.graph->tensors.size(), false);
  const auto add = [&](const CompiledProgram& compiled) {
    for (const Value& value : compiled.assembled.program.values()) {
      if (value.role == Role::Result || seen[value.tensor]) continue;
      seen[value.tensor] = true;
      values.push_back(&value);
    }
  };
  for (const auto* program : compilation.programs()) add(*program);
  return values;
}

bool is_part(const MergedGraph& graph, TensorIndex tensor) {
  return std::ranges::find(graph.parts, tensor, &MergedGraph::Part::tensor) !=
         graph.parts.end();
}

std::array<std::size_t, kNumPlanKinds> arena_sizes(const Compilation& c) {
  std::array<std::size_t, kNumPlanKinds> sizes{};
  std::ranges::transform(c.parts, sizes.begin(), [](const auto& part) {
    return part.plan.memory.arena_bytes;
  });
  return sizes;
}

}  // namespace

void Placement::reset(std::shared_ptr<DeviceContext> context) {
  const bool is_same = context_ == context;
  context_ = std::move(context);
  arenas_ = {std::make_shared<Arena>(context_, "step"),
             std::make_shared<Arena>(context_, "phases"),
             std::make_shared<Arena>(context_, "inference")};
  places_.clear();
  redirected_.clear();
  for (const Category category :
       {Category::Parameter, Category::Statistic, Category::Slot,
        Category::Input, Category::Constant, Category::Accumulator}) {
    // Parameters stay where they are; tensors know.
    const bool stays = is_same && (category == Category::Parameter ||
                                   category == Category::Statistic);
    ArenaGroup& arenas = group(category);
    if (!stays) arenas = {context_, kLabels[static_cast<int>(category)]};
    arenas.drop_unused();
  }
}

void Placement::drop_slots(TensorIndex first_slot) {
  places_.resize(std::min<std::size_t>(places_.size(), first_slot));
  group(Category::Slot) = {context_, kLabels[static_cast<int>(Category::Slot)]};
}

std::vector<Placement::Category> Placement::categories(
    const Compilation& compilation) {
  const MergedGraph& graph = *compilation.graph;
  std::vector<Category> result(graph.tensors.size(), Category::Parameter);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (graph.tensors[i].is_statistic) result[i] = Category::Statistic;
  }
  for (const auto& slots : graph.slots) {
    for (TensorIndex slot : slots) result[slot] = Category::Slot;
  }
  for (const auto& [of, into] : graph.accumulators) {
    if (into != kNoTensor) result[into] = Category::Accumulator;
  }
  if (graph.loss_scale != kNoTensor) {
    result[graph.loss_scale] = Category::Accumulator;
  }
  return result;
}

void Placement::place(const Compilation& compilation,
                      const UserObjects& objects) {
  std::scoped_lock lock(placement_mutex());
  try {
    place_all(compilation, objects);
  } catch (...) {
    places_.clear();  // other graphs may place the tensors then
    throw;
  }
}

void Placement::place_all(const Compilation& compilation,
                          const UserObjects& objects) {
  const auto values = persistent_values(compilation);
  for (const Value* value : values) {
    if (value->role != Role::Variable) continue;
    require_movable(objects.tensors[value->tensor]);
  }
  const MergedGraph& graph = *compilation.graph;
  const std::vector<Category> category = categories(compilation);
  places_.resize(objects.tensors.size());
  shared_bytes_ = 0;
  for (const Value* value : values) {
    if (is_part(graph, value->tensor)) continue;
    auto& place = places_[value->tensor];
    const auto& state = objects.tensors[value->tensor].state();
    if (!place && value->role == Role::Input) {
      place = group(Category::Input).place(state);
    } else if (!place && value->role == Role::Constant) {
      place = group(Category::Constant).place(state);
    } else if (!place) {
      place = place_variable(state, category[value->tensor]);
    }
    if (!is_own(*place->arena)) shared_bytes_ += place->bytes;
  }
  for (TensorIndex hidden : {graph.hyperparameters, graph.random_state}) {
    const auto& state = objects.tensors[hidden].state();
    if (!places_[hidden]) places_[hidden] = group(Category::Input).place(state);
  }
  place_parts(graph);
  place_slots(graph, objects);
}

/// They are where the whole is.
void Placement::place_parts(const MergedGraph& graph) {
  for (const MergedGraph::Part& part : graph.parts) {
    const auto& whole = places_[part.of];
    const TensorDescriptor& desc = graph.tensors[part.tensor].desc;
    const std::size_t before =
        static_cast<std::size_t>(part.begin) * size_of(desc.data_type);
    places_[part.tensor] = std::make_shared<ArenaStorage>(
        whole->arena, whole->offset + before, desc.size_bytes());
  }
}

/// Optimizer buffers are read through the parameter they belong to.
void Placement::place_slots(const MergedGraph& graph,
                            const UserObjects& objects) {
  for (std::size_t i = 0; i < graph.slots.size(); ++i) {
    TensorState& parameter = *objects.tensors[graph.trainable[i]].state();
    std::scoped_lock lock(parameter.mutex);
    auto& slots = parameter.slots;
    if (graph.shards && graph.shards->is_trained(i)) {
      for (OptimizerSlot& slot : slots) {
        slot.device = std::make_shared<ShardedStorage>(
            context_, slot_descriptor(parameter.desc).size_bytes());
      }
      continue;
    }
    for (std::size_t k = 0; k < slots.size() && k < graph.slots[i].size();
         ++k) {
      const auto& placed = places_[graph.slots[i][k]];
      if (placed) slots[k].device = placed;
    }
  }
}

/// A parameter stays where it is, or comes from another device with its newest
/// value. Optimizer buffers and accumulators are the graph's own.
std::shared_ptr<ArenaStorage> Placement::place_variable(
    const std::shared_ptr<TensorState>& tensor, Category category) {
  const bool is_users =
      category == Category::Parameter || category == Category::Statistic;
  if (!is_users) return group(category).place(tensor);
  const auto current = persistent_storage(*tensor);
  if (current && current->context == context_) return current;
  refresh_host(Tensor(tensor));
  const auto placed = group(category).place(tensor);
  std::scoped_lock lock(tensor->mutex);
  tensor->device = placed;
  tensor->is_kept_on_device = true;
  return placed;
}

/// Two devices would train two copies of one parameter, so it moves only when
/// no graph holds its place on the other.
void Placement::require_movable(const Tensor& tensor) const {
  const auto storage = persistent_storage(*tensor.state());
  if (!storage || storage->context == context_) return;
  const auto is_held = [&] {
    return storage.use_count() > 2;  // the tensor's and this one
  };
  // Work in flight holds its graph.
  if (is_held()) storage->context->drain();
  if (!is_held()) return;
  throw StateError(ErrorInfo{
      .op = "compile",
      .node = tensor.name(),
      .what = "a graph on another device still uses this parameter",
      .expected = storage->context->description(),
      .got = name_beside(*context_, *storage->context),
      .hint = "Destroy that graph first, or compile both for one device."});
}

bool Placement::is_own(const Arena& arena) const {
  return std::ranges::any_of(
      groups_, [&](const ArenaGroup& group) { return group.contains(arena); });
}

std::vector<PlanKind> Placement::outgrown(
    const Compilation& compilation) const {
  const auto sizes = arena_sizes(compilation);
  std::vector<PlanKind> kinds;
  for (int kind = 0; kind < kNumPlanKinds; ++kind) {
    const Arena& arena = *arenas_[kind];
    if (arena.is_allocated() && sizes[kind] > arena.size_bytes()) {
      kinds.push_back(PlanKind{kind});
    }
  }
  return kinds;
}

void Placement::size_arenas(const Compilation& compilation) {
  const auto sizes = arena_sizes(compilation);
  for (int kind = 0; kind < kNumPlanKinds; ++kind) {
    arenas_[kind]->ensure(sizes[kind]);
  }
}

const std::shared_ptr<ArenaStorage>& Placement::of(TensorIndex tensor) const {
  static const std::shared_ptr<ArenaStorage> none;
  const bool is_known =
      tensor >= 0 && static_cast<std::size_t>(tensor) < places_.size();
  return is_known ? places_[tensor] : none;
}

void Placement::redirect(TensorIndex tensor,
                         std::shared_ptr<ArenaStorage> storage) {
  redirected_.emplace_back(tensor, std::move(places_[tensor]));
  places_[tensor] = std::move(storage);
}

void Placement::redirect_back() {
  while (!redirected_.empty()) {
    auto& [tensor, storage] = redirected_.back();
    places_[tensor] = std::move(storage);
    redirected_.pop_back();
  }
}

Location Placement::locate(const CompiledProgram& program, const Plan& plan,
                           PlanKind kind, StorageId storage) const {
  const std::size_t offset = plan.offset_of[storage];
  if (offset != Plan::kNotInArena) return arena(kind)->at(offset);
  const ValueId value = program.lowered.storages[storage].value;
  if (value == kNoValue) return {};
  const auto& placed = of(program.assembled.program.value(value).tensor);
  return placed ? placed->locate() : Location{};
}

void Placement::report(MemoryReport& report) const {
  std::size_t* const bytes[] = {
      &report.parameter_bytes, &report.statistics_bytes,
      &report.optimizer_bytes, &report.input_bytes,
      &report.constant_bytes,  &report.accumulator_bytes};
  const auto count = [&](const Arena& arena) {
    if (!arena.is_allocated()) return;
    report.predicted_bytes += arena.size_bytes();
    report.allocated_bytes += arena.allocated_bytes();
  };
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    *bytes[i] = groups_[i].size_bytes();
    report.persistent_bytes += *bytes[i];
    for (const auto& arena : groups_[i].arenas()) count(*arena);
  }
  report.shared_bytes = shared_bytes_;
  PlanMemory* const plans[] = {&report.step, &report.phases, &report.inference};
  for (int kind = 0; kind < kNumPlanKinds; ++kind) {
    plans[kind]->arena_bytes = arenas_[kind]->size_bytes();
    plans[kind]->is_allocated = arenas_[kind]->is_allocated();
    count(*arenas_[kind]);
  }
}

std::size_t Placement::input_bytes(const Compilation& compilation) const {
  const MergedGraph& graph = *compilation.graph;
  constexpr const char* kWhat = "inputs";
  std::size_t sum = 0;
  const auto add = [&](const TensorDescriptor& desc) {
    const std::size_t bytes = desc.size_bytes();
    const std::size_t alignment = context_->target().alignment_of(bytes);
    sum = checked_align(sum, alignment, kWhat);
    sum = checked_add(sum, checked_align(bytes, alignment, kWhat), kWhat);
  };
  for (const TensorIndex hidden : {graph.hyperparameters, graph.random_state}) {
    add(graph.tensors[hidden].desc);
  }
  for (const Value* value : persistent_values(compilation)) {
    const bool is_hidden = value->tensor == graph.hyperparameters ||
                           value->tensor == graph.random_state;
    if (value->role == Role::Input && !is_hidden) add(value->desc);
  }
  return sum;
}

std::size_t Placement::arena_bytes(PlanKind main) const {
  std::size_t allocated = 0;
  for (const auto& arena : arenas_) {
    if (arena->is_allocated()) allocated += arena->size_bytes();
  }
  return allocated > 0 ? allocated : arena(main)->size_bytes();
}

}  // namespace traingraph
