// SPDX-License-Identifier: MIT
#include "runtime/artefact/store_graph.h"

#include <unordered_set>

#include "graph/image_filter.h"
#include "graph/op_def.h"
#include "runtime/artefact/op_versions.h"
#include "runtime/artefact/stored_optimizer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void require_storable(const MergedGraph& graph) {
  if (!graph.program.filters) return;
  throw UnsupportedError(
      ErrorInfo{.op = "export_graph",
                .what = "graphs of filter nodes cannot be exported",
                .hint = "Export one that is made of layers."});
}

StoredValue store(const Value& value, const MergedGraph& graph) {
  StoredValue stored{.name = value.name,
                     .role = value.role,
                     .desc = value.desc,
                     .tensor = value.tensor,
                     .is_opaque = value.is_opaque};
  // The graph's own tensors are made anew.
  if (value.tensor == graph.random_state) stored.tensor = kNoTensor;
  if (value.is_opaque) stored.desc = {};
  if (value.role != Role::Result) stored.batch_axis = value.batch.axis;
  return stored;
}

StoredNode store(const Node& node) {
  return {.op = node.op->name,
          .attributes = node.attrs,
          .inputs = node.inputs,
          .outputs = node.outputs,
          .phase = node.phase,
          .layer = node.layer,
          .name = node.name};
}

TensorEntry store(const Tensor& tensor, const TensorInfo& info,
                  bool is_result) {
  const TensorState& state = *tensor.state();
  TensorEntry entry;
  entry.desc = info.desc;
  entry.batch_axis = tensor.batch_axis();
  entry.is_statistic = info.is_statistic;
  entry.is_result = is_result;
  if (state.sequences) {
    entry.sequence_lengths = state.sequences->sequence_lengths;
    entry.sorted_sequences = state.sequences->sorted_sequences;
  }
  const std::scoped_lock lock(state.mutex);
  entry.name = state.name;
  entry.initializer = state.initializer;
  return entry;
}

/// Gives constants, and parameters that were given their values, a place.
class DataNames {
 public:
  DataNames(const Session& session, const std::vector<std::string>& taken,
            bool has_state, GraphAndData& into)
      : session_(session),
        taken_(taken.begin(), taken.end()),
        has_state_(has_state),
        into_(into) {}

  void name(const Value& value) {
    if (value.tensor < 0 || value.tensor >= num_tensors()) return;
    TensorEntry& entry = into_.graph.tensors[value.tensor];
    if (value.role == Role::Constant) {
      entry.initializer.reset();
      add(entry, value.tensor, "constant." + std::to_string(value.tensor));
      into_.graph.constants.push_back(entry.data);
    } else if (value.role == Role::Variable && !entry.initializer) {
      // In files with state it is there by its name.
      const bool is_state = taken_.contains(entry.name);
      entry.data = entry.name;
      if (!has_state_ || !is_state) add(entry, value.tensor, entry.name);
    }
  }

 private:
  TensorIndex num_tensors() const {
    return static_cast<TensorIndex>(into_.graph.tensors.size());
  }

  void add(TensorEntry& entry, TensorIndex tensor, std::string name) {
    while (name.empty() || used_.contains(name) ||
           (has_state_ && taken_.contains(name))) {
      name += "_";
    }
    used_.insert(name);
    entry.data = name;
    into_.data.push_back({name, session_.objects.tensors[tensor]});
  }

  const Session& session_;
  std::unordered_set<std::string> taken_, used_;
  bool has_state_;
  GraphAndData& into_;
};

}  // namespace

GraphAndData store_graph(const Session& session,
                         const std::vector<std::string>& taken,
                         bool has_state) {
  const MergedGraph& graph = session.plan_cache->graph();
  require_storable(graph);
  GraphAndData result;
  StoredGraph& stored = result.graph;
  stored.has_state = has_state;
  stored.graph = graph;
  for (const Value& value : graph.program.values()) {
    stored.values.push_back(store(value, graph));
  }
  for (const Node& node : graph.program.nodes()) {
    stored.nodes.push_back(store(node));
    stored.ops[node.op->name] = version_of(node.op->kind);
  }
  // Behind these are the graph's own.
  for (TensorIndex i = 0; i < graph.hyperparameters; ++i) {
    stored.tensors.push_back(
        store(session.objects.tensors[i], graph.tensors[i], graph.produces(i)));
  }
  DataNames names(session, taken, has_state, result);
  for (const Value& value : graph.program.values()) names.name(value);
  const OptimizerPtr& optimizer = session.objects.optimizer;
  if (optimizer) stored.optimizer = store_optimizer(*optimizer);
  const CompilerOptions& options = session.plan_cache->options();
  stored.options = {.fuses = options.fuses,
                    .reuse_memory = options.reuse_memory,
                    .max_gpu_ms = options.max_gpu_ms};
  return result;
}

}  // namespace traingraph
