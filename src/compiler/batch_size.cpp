// SPDX-License-Identifier: MIT
#include "compiler/batch_size.h"

#include <algorithm>

#include "compiler/passes/batch_axis.h"
#include "graph/tensor_state.h"

namespace traingraph {
namespace {

/// Calls action(tensor, size on its batch axis) for the declared tensors.
template <class Action>
void for_each_batched(const Declaration& declaration, const Action& action) {
  for (const auto* tensors :
       {&declaration.inputs, &declaration.labels, &declaration.label_weights}) {
    for (const auto& [name, tensor] : *tensors) {
      if (!is_batched(declaration, tensor)) continue;
      action(tensor, tensor.shape()[*tensor.batch_axis()]);
    }
  }
}

bool is_parameter(const Declaration& declaration, const Tensor& tensor) {
  const auto is_this = [&](const TensorParameter& parameter) {
    return parameter.tensor() == tensor;
  };
  return std::ranges::any_of(declaration.trained_inputs, is_this) ||
         std::ranges::any_of(declaration.graphs, [&](const auto& graph) {
           const auto it = graph->value_of.find(tensor.tensor_id());
           return it != graph->value_of.end() &&
                  graph->program.value(it->second).role == Role::Variable;
         });
}

}  // namespace

bool is_batched(const Declaration& declaration, const Tensor& tensor) {
  const bool is_constant = std::ranges::any_of(
      declaration.constants,
      [&](const auto& entry) { return entry.second == tensor; });
  return tensor.batch_axis() && !is_constant &&
         !is_parameter(declaration, tensor);
}

std::int64_t declared_batch(const Declaration& declaration) {
  std::int64_t batch = 0;
  for_each_batched(declaration, [&](const Tensor&, std::int64_t size) {
    batch = batch == 0 ? size : std::min(batch, size);
  });
  return batch;
}

std::string explain_batch(const Declaration& declaration) {
  const std::int64_t batch = declared_batch(declaration);
  std::string limit;
  bool has_larger = false;
  for_each_batched(declaration, [&](const Tensor& tensor, std::int64_t size) {
    has_larger = has_larger || size > batch;
    if (size > batch || !limit.empty()) return;
    limit = "\"" + tensor.name() + "\" " + tensor.shape().to_string();
  });
  if (!has_larger) {
    return "Declare inputs with the largest batch size you need.";
  }
  return "The batch is the smallest size on a batch axis, that of " + limit +
         "; make it with batch_axis None when it does not vary with the batch, "
         "or with the axis that does.";
}

void derive_batch(const Declaration& declaration, Merged& merged) {
  MergedGraph& graph = merged.graph;
  graph.batch = declared_batch(declaration);
  graph.batch_hint = explain_batch(declaration);
  if (graph.batch > 1) {
    graph.batch_obstacle = derive_batch_axes(graph.program, graph.batch);
  }
  for (const auto& user : graph.user_gradients) {
    const ValueId value = graph.find(user.of);
    if (value == kNoValue) continue;
    const BatchAxis& batch = graph.program.value(value).batch;
    merged.objects.tensors[user.gradient].state()->batch_axis =
        batch ? std::optional(batch.axis) : std::nullopt;
  }
}

}  // namespace traingraph
