// SPDX-License-Identifier: MIT
#include "compiler/assemble.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/append_gradients.h"
#include "compiler/append_updates.h"
#include "compiler/merge.h"
#include "compiler/passes/pool_before_relu.h"
#include "compiler/passes/remove_dead_nodes.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

Assembled take(Merged&& merged) {
  Assembled result;
  result.program = std::move(merged.graph.program);
  result.records = std::move(merged.graph.records);
  result.value_of = std::move(merged.graph.value_of);
  result.depends_on_labels = std::move(merged.depends_on_labels);
  result.result = merged.result;
  return result;
}

/// Results that linked graphs may read: those that no node reads, and those
/// that take a gradient from outside.
void find_boundary(Assembled& a, const Declaration& declaration) {
  std::vector<bool> is_read(a.program.values().size(), false);
  for (const Node& node : a.program.nodes()) {
    for (ValueId v : node.inputs) {
      if (v != kNoValue) is_read[v] = true;
    }
  }
  for (const auto& [tensor, value] : a.value_of) {
    const Value& of = a.program.value(value);
    const bool is_result = of.role == Role::Result && !of.is_opaque;
    const bool takes_gradient = std::ranges::any_of(
        declaration.user_gradients,
        [&](const auto& user) { return user.of.tensor_id() == tensor; });
    if (is_result && (!is_read[value] || takes_gradient)) {
      a.boundary.push_back(value);
    }
  }
  std::ranges::sort(a.boundary);
}

void find_losses(Assembled& a) {
  for (const LayerRecord& record : a.records) {
    if (!record.layer->is_loss() || record.results.empty()) continue;
    a.losses.push_back(a.find(record.results.front()));
    a.loss_names.push_back(record.name);
  }
}

/// Results that somebody outside the program names: they stay as they are.
std::vector<ValueId> named_results(const Declaration& declaration,
                                   const Assembled& a) {
  std::vector<ValueId> named = readable_values(declaration, a);
  for (const auto& user : declaration.user_gradients) {
    named.push_back(a.find(user.of));
  }
  for (const Tensor& tensor : declaration.stopped) {
    named.push_back(a.find(tensor));
  }
  for (const Tensor& tensor : debugged_results(declaration, a)) {
    named.push_back(a.find(tensor));
  }
  return named;
}

}  // namespace

ValueId Assembled::find(const Tensor& tensor) const {
  const auto it = value_of.find(tensor.tensor_id());
  return it == value_of.end() ? kNoValue : it->second;
}

std::vector<ValueId> readable_values(const Declaration& declaration,
                                     const Assembled& a) {
  std::vector<ValueId> readable = a.debugged;
  for (const auto* list : {&a.boundary, &a.losses}) {
    readable.insert(readable.end(), list->begin(), list->end());
  }
  readable.push_back(a.result);
  for (const auto& [name, tensor] : declaration.outputs) {
    readable.push_back(a.find(tensor));
  }
  for (const auto& entry : a.input_gradients) readable.push_back(entry.second);
  std::erase(readable, kNoValue);
  return readable;
}

std::vector<Tensor> debugged_results(const Declaration& declaration,
                                     const Assembled& a) {
  std::vector<Tensor> results;
  if (!declaration.debugs_layers) return results;
  for (const LayerRecord& record : a.records) {
    if (!record.layer->is_debugging_enabled) continue;
    results.insert(results.end(), record.results.begin(), record.results.end());
  }
  return results;
}

std::vector<Tensor> trainable_parameters(const Declaration& declaration) {
  if (declaration.trained) return *declaration.trained;
  std::vector<Tensor> trained;
  std::unordered_set<std::uint64_t> seen, frozen;
  const auto for_each_record = [&](auto&& f) {
    for (const auto& graph : declaration.graphs) {
      for (const LayerRecord& record : graph->records) f(record);
    }
  };
  // One node that must not be updated freezes the layer's parameters.
  for_each_record([&](const LayerRecord& record) {
    if (!record.disable_update) return;
    for (const TensorParameter& p : record.layer->parameters()) {
      frozen.insert(p.tensor().tensor_id());
    }
  });
  const auto add = [&](const TensorParameter& parameter) {
    const std::uint64_t id = parameter.tensor().tensor_id();
    if (!parameter.is_updatable() || frozen.contains(id)) return;
    if (seen.insert(id).second) trained.push_back(parameter.tensor());
  };
  for_each_record([&](const LayerRecord& record) {
    for (const TensorParameter& p : record.layer->parameters()) add(p);
  });
  for (const TensorParameter& p : declaration.trained_inputs) add(p);
  return trained;
}

Assembled assemble(const Declaration& declaration, Mode mode,
                   std::int64_t batch) {
  Merged merged;
  merge_graphs(declaration, mode, batch, merged);
  Assembled a = take(std::move(merged));
  find_losses(a);
  if (declaration.is_linkable) find_boundary(a, declaration);
  pool_before_relu(a.program, named_results(declaration, a));
  if (declaration.trains && mode == Mode::Training) {
    append_gradients(declaration, a);
    if (declaration.optimizer) append_updates(declaration, a);
  }
  for (const auto& [name, tensor] : declaration.outputs) {
    if (a.find(tensor) != kNoValue) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = name,
        .what = "the output tensor belongs to no node of this graph"});
  }
  std::vector<ValueId> kept = readable_values(declaration, a);
  for (const Trained& trained : a.trained) kept.push_back(trained.gradient);
  remove_dead_nodes(a.program, kept);
  a.depends_on_labels.resize(a.program.values().size(), false);
  return a;
}

}  // namespace traingraph
