// SPDX-License-Identifier: MIT
#include "compiler/merge.h"

#include <algorithm>

#include "compiler/batch_size.h"
#include "compiler/distribution/gradient_weights.h"
#include "compiler/loss_reduction.h"
#include "compiler/merge_nodes.h"
#include "compiler/parameter_rules.h"
#include "formulas/run_time_scalars.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"

namespace traingraph {

TensorIndex UserObjects::find(const TensorState* tensor) const {
  const auto it = index_of_.find(tensor);
  return it == index_of_.end() ? kNoTensor : it->second;
}

TensorIndex UserObjects::add(const Tensor& tensor) {
  const auto index = static_cast<TensorIndex>(tensors.size());
  const auto [it, is_new] = index_of_.emplace(tensor.state().get(), index);
  if (is_new) tensors.push_back(tensor);
  return it->second;
}

void UserObjects::pop_back() {
  index_of_.erase(tensors.back().state().get());
  tensors.pop_back();
}

TensorIndex Merged::add(const Tensor& tensor) {
  const TensorIndex index = objects.add(tensor);
  if (static_cast<std::size_t>(index) == graph.tensors.size()) {
    graph.tensors.push_back({tensor.name(), tensor.descriptor()});
    graph.value_of.push_back(kNoValue);
  }
  return index;
}

namespace {

MergedGraph::Names indices_of(const Declaration::Names& names, Merged& merged) {
  MergedGraph::Names indices;
  for (const auto& [name, tensor] : names) {
    indices.emplace(name, merged.add(tensor));
  }
  return indices;
}

std::vector<TensorIndex> indices_of(const std::vector<Tensor>& tensors,
                                    Merged& merged) {
  std::vector<TensorIndex> indices;
  for (const Tensor& tensor : tensors) indices.push_back(merged.add(tensor));
  return indices;
}

void take_layers(const GraphState& state, bool debugs_layers, Merged& merged) {
  MergedGraph& graph = merged.graph;
  for (const LayerRecord& record : state.records) {
    if (record.layer->is_loss() && !record.results.empty()) {
      graph.losses.push_back(static_cast<int>(graph.layers.size()));
    }
    LayerInfo& info = graph.layers.emplace_back();
    info.name = record.name;
    info.is_loss = record.layer->is_loss();
    info.is_debugged = debugs_layers && record.layer->is_debugging_enabled;
    info.compute_type = record.layer->compute_type();
    info.sources = indices_of(record.sources, merged);
    info.results = indices_of(record.results, merged);
    for (const TensorParameter& parameter : record.layer->parameters()) {
      info.parameters.push_back(merged.add(parameter.tensor()));
    }
    for (const Tensor& tensor : record.layer->statistics()) {
      graph.tensors[merged.add(tensor)].is_statistic = true;
    }
    merged.objects.layers.push_back(record.layer);
  }
}

void take_declared(const Declaration& d, Merged& merged) {
  MergedGraph& graph = merged.graph;
  graph.trains = d.trains;
  graph.computes_all_gradients = d.computes_all_gradients;
  graph.is_linkable = d.is_linkable;
  graph.precision = d.precision;
  graph.accumulates_gradients = d.accumulates_gradients;
  graph.inputs = indices_of(d.inputs, merged);
  graph.labels = indices_of(d.labels, merged);
  graph.label_weights = indices_of(d.label_weights, merged);
  graph.outputs = indices_of(d.outputs, merged);
  graph.stopped = indices_of(d.stopped, merged);
  const std::vector<Tensor> trainable = trainable_parameters(d);
  graph.trainable = indices_of(trainable, merged);
  graph.rules = rules_of(d.groups, trainable);
  for (const auto& [of, gradient] : d.given_gradients) {
    graph.given_gradients.push_back({merged.add(of), merged.add(gradient)});
  }
  for (const auto& user : d.user_gradients) {
    graph.user_gradients.push_back(
        {merged.add(user.of), merged.add(user.gradient), user.is_boundary});
  }
}

TensorIndex add_accumulator(const Tensor& of, Merged& merged) {
  if (!is_float(of.data_type())) return kNoTensor;
  return merged.add(
      Tensor(slot_descriptor(of.descriptor()), "gradient of " + of.name()));
}

template <class Scalars>
TensorDescriptor scalars_descriptor(DataType type = DataType::Float32) {
  return {{formulas::num_entries<Scalars>()}, type};
}

/// The scale begins as large as float16 has room for: too large a one halves
/// until it fits.
Tensor make_loss_scale() {
  static constexpr formulas::LossScale kInitial{.factor = 65536};
  Tensor scale(scalars_descriptor<formulas::LossScale>(), "loss_scale");
  scale.set_data(TensorData(&kInitial, sizeof(kInitial)));
  return scale;
}

void add_weights(Merged& merged) {
  MergedGraph& graph = merged.graph;
  const TensorDescriptor number({1}, DataType::Float32);
  if (graph.trains && graph.weights_gradients) {
    graph.gradient_weight = merged.add(Tensor(number, "gradient_weight"));
  }
  graph.user_weights.assign(graph.user_gradients.size(), graph.gradient_weight);
  if (!graph.is_linkable || graph.gradient_weight == kNoTensor) return;
  for (std::size_t i = 0; i < graph.user_weights.size(); ++i) {
    const auto& user = graph.user_gradients[i];
    const std::string& name = graph.tensors[user.gradient].name;
    graph.user_weights[i] =
        user.is_boundary ? kNoTensor
                         : merged.add(Tensor(number, "weight of " + name));
  }
}

void add_hidden_tensors(Merged& merged) {
  MergedGraph& graph = merged.graph;
  graph.hyperparameters = merged.add(Tensor(
      scalars_descriptor<formulas::Hyperparameters>(), "hyperparameters"));
  graph.random_state = merged.add(
      Tensor(scalars_descriptor<formulas::RandomState>(DataType::Int32),
             "random_state"));
  if (graph.trains && graph.precision == Precision::MixedFloat16) {
    graph.loss_scale = merged.add(make_loss_scale());
  }
  add_weights(merged);
  if (graph.is_linkable && !graph.trainable.empty()) {
    const auto count = static_cast<std::int64_t>(graph.trainable.size());
    graph.updated = merged.add(Tensor({{count}, DataType::Float32}, "updated"));
  }
  if (!graph.is_linkable && !graph.accumulates_gradients) return;
  std::vector<TensorIndex> accumulated = graph.trainable;
  if (graph.is_linkable) {
    for (const auto& [name, tensor] : graph.inputs) {
      accumulated.push_back(tensor);
    }
  }
  if (accumulated.empty()) return;
  const auto count = static_cast<std::int64_t>(
      formulas::num_entries<formulas::AccumulationFactors>() *
      accumulated.size());
  graph.accumulation =
      merged.add(Tensor({{count}, DataType::Float32}, "accumulation"));
  for (TensorIndex of : accumulated) {
    const Tensor tensor = merged.objects.tensors[of];
    graph.accumulators.push_back({of, add_accumulator(tensor, merged)});
  }
}

UpdateRule rule_of(const Optimizer& optimizer) {
  const OptimizerDescriptor descriptor = optimizer.descriptor();
  const auto names = optimizer.slots();
  return {.op = optimizer.op(),
          .attributes = optimizer.attributes(),
          .slots = {names.begin(), names.end()},
          .clipping = descriptor.gradient_clipping_type,
          .maximum_clipping_norm = descriptor.maximum_clipping_norm,
          .custom_global_norm = descriptor.custom_global_norm};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ", ") + (name.empty() ? "?" : name);
  }
  return list.empty() ? "none" : list;
}

/// Buffers that the user gave for the optimizer are as many as it has, and have
/// its names, where they have any.
void require_given_slots_fit(const Tensor& parameter,
                             const std::vector<std::string>& names) {
  std::vector<std::string> given;
  {
    TensorState& state = *parameter.state();
    std::scoped_lock lock(state.mutex);
    for (const OptimizerSlot& slot : state.slots) {
      if (slot.is_given) given.push_back(slot.name);
    }
  }
  if (given.empty()) return;
  const bool fits = std::ranges::equal(
      given, names, [](const std::string& name, const std::string& expected) {
        return name.empty() || name == expected;
      });
  if (fits) return;
  throw InvalidArgument(
      {.op = "compile",
       .node = parameter.name(),
       .what = "the buffers that were given are not those of the optimizer",
       .expected = list_of(names),
       .got = list_of(given),
       .hint = "Give others by bind_optimizer_data(), or an empty list."});
}

HostData part_of(const HostData& whole, std::size_t begin, std::size_t bytes) {
  return {whole.bytes + begin, bytes, whole.owner};
}

/// Adds the buffers of `range` of the parameter: none where that is empty.
std::vector<TensorIndex> add_slots(const Tensor& parameter,
                                   const std::vector<std::string>& names,
                                   ElementRange range, bool keeps_host_data,
                                   Merged& merged) {
  TensorState& state = *parameter.state();
  std::scoped_lock lock(state.mutex);
  state.has_optimizer = true;
  const TensorDescriptor whole = slot_descriptor(state.desc);
  TensorDescriptor desc = whole;
  if (range.size() != whole.shape.num_elements()) {
    desc.shape = Shape{range.size()};
  }
  const std::size_t begin =
      static_cast<std::size_t>(range.begin) * size_of(whole.data_type);
  std::vector<TensorIndex> indices;
  std::vector<OptimizerSlot> slots;
  for (std::size_t i = 0; i < names.size(); ++i) {
    slots.push_back({names[i], {}, nullptr});
    if (i < state.slots.size()) {
      const OptimizerSlot& before = state.slots[i];
      const bool is_kept =
          before.is_given || (keeps_host_data && before.name == names[i]);
      if (is_kept && before.host.size >= whole.size_bytes()) {
        slots.back().host = before.host;
      }
    }
    if (range.empty()) continue;
    const Tensor tensor(desc, names[i] + " of " + state.name);
    const HostData& host = slots.back().host;
    if (host.bytes) {
      tensor.state()->data = part_of(host, begin, desc.size_bytes());
    }
    indices.push_back(merged.add(tensor));
  }
  state.slots = std::move(slots);
  return indices;
}

/// Returns what this process updates of trainable[place].
ElementRange updated(const MergedGraph& graph, std::size_t place) {
  if (graph.shards) return graph.shards->own(place);
  const TensorInfo& info = graph.tensors[graph.trainable[place]];
  return {0, info.desc.shape.num_elements()};
}

void add_parts(Merged& merged) {
  MergedGraph& graph = merged.graph;
  for (std::size_t i = 0; graph.shards && i < graph.trainable.size(); ++i) {
    if (!graph.shards->cuts(i)) continue;
    const TensorInfo& whole = graph.tensors[graph.trainable[i]];
    const ElementRange range = graph.shards->own(i);
    const Tensor tensor(
        TensorDescriptor(Shape{range.size()}, whole.desc.data_type),
        "part of " + whole.name);
    graph.parts.push_back({.of = graph.trainable[i],
                           .tensor = merged.add(tensor),
                           .begin = range.begin});
  }
}

}  // namespace

Merged merge_graphs(const Declaration& declaration) {
  GraphState state;
  const ValueId result = merge_nodes(declaration, state);
  Merged merged;
  MergedGraph& graph = merged.graph;
  for (const Tensor& tensor : state.tensors) merged.add(tensor);
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    graph.value_of[i] = state.value_of.at(state.tensors[i].tensor_id());
  }
  graph.program = std::move(state.program);
  graph.result = result;
  graph.declares_gradients = std::ranges::any_of(
      graph.program.nodes(),
      [](const Node& node) { return node.phase == Phase::Gradient; });
  take_layers(state, declaration.debugs_layers, merged);
  take_declared(declaration, merged);
  graph.depends_on_labels = values_of_labels(graph);
  derive_batch(declaration, merged);
  graph.weights_gradients = weights_gradients(declaration, graph);
  graph.reduce_losses = declaration.reduce_losses;
  if (graph.reduce_losses) require_losses_reduce(graph);
  add_own_tensors(merged, state.random_state, declaration.optimizer,
                  /*keeps_host_data=*/true);
  return merged;
}

void add_own_tensors(Merged& merged, ValueId random_state,
                     OptimizerPtr optimizer, bool keeps_host_data) {
  MergedGraph& graph = merged.graph;
  add_hidden_tensors(merged);
  if (random_state != kNoValue) {
    graph.program.value(random_state).tensor = graph.random_state;
    graph.value_of[graph.random_state] = random_state;
  }
  graph.first_slot = static_cast<TensorIndex>(graph.tensors.size());
  set_optimizer(merged, std::move(optimizer), keeps_host_data);
}

std::vector<bool> values_of_labels(const MergedGraph& graph) {
  std::vector<bool> result(graph.program.values().size(), false);
  for (const auto* names : {&graph.labels, &graph.label_weights}) {
    for (const auto& [name, tensor] : *names) {
      const ValueId value = graph.find(tensor);
      if (value != kNoValue) result[value] = true;
    }
  }
  for (const Node& node : graph.program.nodes()) {
    const bool sees = std::ranges::any_of(
        node.inputs, [&](ValueId v) { return v != kNoValue && result[v]; });
    if (!sees) continue;
    for (ValueId v : node.outputs) result[v] = true;
  }
  return result;
}

void set_optimizer(Merged& merged, OptimizerPtr optimizer,
                   bool keeps_host_data) {
  MergedGraph& graph = merged.graph;
  const auto first = static_cast<std::size_t>(graph.first_slot);
  while (merged.objects.tensors.size() > first) merged.objects.pop_back();
  graph.tensors.resize(first);
  graph.value_of.resize(first);
  graph.slots.clear();
  graph.parts.clear();
  graph.update.reset();
  merged.objects.optimizer = std::move(optimizer);
  if (!merged.objects.optimizer) return;
  graph.update = rule_of(*merged.objects.optimizer);
  require_rules_fit(graph, graph.update->attributes);
  for (TensorIndex parameter : graph.trainable) {
    require_given_slots_fit(merged.objects.tensors[parameter],
                            graph.update->slots);
  }
  for (std::size_t i = 0; i < graph.trainable.size(); ++i) {
    const Tensor tensor = merged.objects.tensors[graph.trainable[i]];
    graph.slots.push_back(add_slots(tensor, graph.update->slots,
                                    updated(graph, i), keeps_host_data,
                                    merged));
  }
  add_parts(merged);
}

}  // namespace traingraph
