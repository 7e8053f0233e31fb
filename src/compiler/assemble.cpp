// SPDX-License-Identifier: MIT
#include "compiler/assemble.h"

#include <algorithm>

#include "compiler/passes.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

Assembled copy_of(const MergedGraph& graph) {
  Assembled a;
  a.program = graph.program;
  a.value_of = graph.value_of;
  a.depends_on_labels = graph.depends_on_labels;
  a.result = graph.result;
  a.trained_at.assign(graph.tensors.size(), -1);
  for (int layer : graph.losses) {
    a.losses.push_back(a.find(graph.layers[layer].results.front()));
  }
  return a;
}

void require_outputs(const MergedGraph& graph, const Assembled& a) {
  for (const auto& [name, tensor] : graph.outputs) {
    if (a.find(tensor) != kNoValue) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = name,
        .what = "the output tensor belongs to no node of this graph"});
  }
}

}  // namespace

std::vector<ValueId> readable_values(const MergedGraph& graph,
                                     const Assembled& a) {
  std::vector<ValueId> readable = a.debugged;
  for (const auto* list : {&a.boundary, &a.losses}) {
    readable.insert(readable.end(), list->begin(), list->end());
  }
  readable.push_back(a.result);
  for (const auto& [name, tensor] : graph.outputs) {
    readable.push_back(a.find(tensor));
  }
  for (const auto& entry : a.input_gradients) readable.push_back(entry.second);
  std::erase(readable, kNoValue);
  return readable;
}

std::vector<TensorIndex> debugged_results(const MergedGraph& graph) {
  std::vector<TensorIndex> results;
  for (const LayerInfo& layer : graph.layers) {
    if (!layer.is_debugged) continue;
    results.insert(results.end(), layer.results.begin(), layer.results.end());
  }
  return results;
}

Assembled assemble(const MergedGraph& graph, const Variant& variant,
                   std::int64_t batch, const Target& target,
                   const CompilerOptions& options) {
  Assembled a = copy_of(graph);
  require_outputs(graph, a);
  run_passes({graph, variant, batch, target, options}, a);
  return a;
}

}  // namespace traingraph
