// SPDX-License-Identifier: MIT
#include "runtime/artefact/read_graph.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "compiler/passes/batch_axis.h"
#include "runtime/artefact/check_tables.h"
#include "runtime/artefact/read_program.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

// As largest_batch() looks for.
constexpr std::int64_t kMostBatch = std::int64_t{1} << 24;

/// Where values are, by tensor. The one input that is no tensor of the user's
/// is the random state.
void find_values(MergedGraph& graph, std::size_t num_tensors) {
  graph.value_of.assign(num_tensors, kNoValue);
  int num_own = 0;
  for (std::size_t v = 0; v < graph.program.values().size(); ++v) {
    const Value& value = graph.program.values()[v];
    if (value.tensor == kNoTensor) {
      if (value.role == Role::Result) continue;
      const bool is_random_state =
          value.role == Role::Input && !value.batch && ++num_own == 1 &&
          value.desc == TensorDescriptor{{4}, DataType::Int32};
      if (is_random_state) continue;
      throw std::runtime_error("\"" + value.name + "\" is of no tensor");
    }
    if (value.tensor < 0 || std::cmp_greater_equal(value.tensor, num_tensors)) {
      throw std::runtime_error("\"" + value.name + "\" is of no tensor");
    }
    ValueId& place = graph.value_of[value.tensor];
    if (place != kNoValue) {
      throw std::runtime_error("\"" + value.name + "\" is a tensor twice");
    }
    place = static_cast<ValueId>(v);
  }
}

void derive(MergedGraph& graph) {
  graph.batch_obstacle.reset();
  if (graph.batch > 1) {
    graph.batch_obstacle = derive_batch_axes(graph.program, graph.batch);
  }
}

ValueId random_state_of(const MergedGraph& graph) {
  const auto& values = graph.program.values();
  const auto it = std::ranges::find_if(values, [](const Value& value) {
    return value.role == Role::Input && value.tensor == kNoTensor;
  });
  return it == values.end() ? kNoValue
                            : static_cast<ValueId>(it - values.begin());
}

Tensor make_tensor(const TensorEntry& entry) {
  Tensor tensor =
      entry.sequence_lengths.empty()
          ? Tensor(entry.desc, entry.label, entry.batch_axis)
          : Tensor(SequenceDescriptor(entry.desc.shape, entry.sequence_lengths,
                                      entry.sorted_sequences,
                                      entry.desc.data_type),
                   entry.label, entry.batch_axis);
  tensor.state()->is_result = entry.is_result;
  tensor.state()->initializer = entry.initializer;
  return tensor;
}

void require_given_fits(const std::string& name, const TensorEntry& entry,
                        const Tensor& tensor) {
  if (!tensor) {
    throw InvalidArgument(
        ErrorInfo{.op = "load", .node = name, .what = "there is no tensor"});
  }
  const TensorDescriptor& desc = tensor.descriptor();
  ErrorInfo info{.op = "load",
                 .node = name,
                 .what = "the tensor that was given does not fit the file",
                 .expected = entry.desc.to_string(),
                 .got = desc.to_string()};
  if (desc.data_type != entry.desc.data_type) throw DTypeError(info);
  if (desc.shape != entry.desc.shape) throw ShapeError(info);
}

/// Values that no node computes any more are no tensors, either.
void drop_later_phases(MergedGraph& graph) {
  std::vector<NodeId> kept;
  for (std::size_t id = 0; id < graph.program.nodes().size(); ++id) {
    const bool is_forward = graph.program.nodes()[id].phase == Phase::Forward;
    if (is_forward) kept.push_back(static_cast<NodeId>(id));
  }
  graph.program.reorder(kept);
  const auto is_gone = [&](TensorIndex tensor) {
    const ValueId value = graph.find(tensor);
    if (value == kNoValue) return false;
    const Value& v = graph.program.value(value);
    return v.role == Role::Result && v.producer < 0;
  };
  std::erase_if(graph.outputs,
                [&](const auto& output) { return is_gone(output.second); });
  std::erase_if(graph.losses, [&](int layer) {
    return is_gone(graph.layers[layer].results.front());
  });
  for (std::size_t t = 0; t < graph.value_of.size(); ++t) {
    if (!is_gone(static_cast<TensorIndex>(t))) continue;
    graph.program.value(graph.value_of[t]).tensor = kNoTensor;
    graph.value_of[t] = kNoValue;
  }
  for (LayerInfo& layer : graph.layers) {
    std::erase_if(layer.results, [&](TensorIndex tensor) {
      return graph.find(tensor) == kNoValue;
    });
  }
  graph.declares_gradients = false;
}

}  // namespace

MergedGraph read_graph(const StoredGraph& stored) {
  MergedGraph graph = stored.graph;
  graph.program = read_program(stored);
  find_values(graph, stored.tensors.size());
  check_tables(graph, stored.tensors);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const LayerInfo& layer = graph.layers[i];
    if (layer.is_loss && !layer.results.empty()) {
      graph.losses.push_back(static_cast<int>(i));
    }
  }
  graph.declares_gradients = std::ranges::any_of(
      graph.program.nodes(),
      [](const Node& node) { return node.phase == Phase::Gradient; });
  graph.depends_on_labels = values_of_labels(graph);
  derive(graph);
  return graph;
}

void set_batch(MergedGraph& graph, std::vector<TensorEntry>& entries,
               std::int64_t batch) {
  if (batch == 0 || batch == graph.batch) return;
  if (batch < 0 || batch > kMostBatch || graph.batch < 2) {
    throw InvalidArgument(ErrorInfo{
        .op = "load",
        .node = "batch_size",
        .what = "the graph cannot have this batch size",
        .expected = graph.batch < 2 ? "0: a batch of 1 does not tell where the "
                                      "batch is"
                                    : "1 to " + std::to_string(kMostBatch),
        .got = std::to_string(batch)});
  }
  const BatchChange change{.from = graph.batch, .to = batch};
  const Program before = graph.program;
  resize_batch(graph.program, change);
  for (std::size_t t = 0; t < entries.size(); ++t) {
    TensorEntry& entry = entries[t];
    const ValueId value = graph.value_of[t];
    if (value == kNoValue || !graph.program.value(value).batch) continue;
    const bool is_alike = entry.desc == before.desc(value);
    if (is_alike) {
      entry.desc = graph.program.desc(value);
    } else if (entry.batch_axis) {
      std::int64_t& size = entry.desc.shape[*entry.batch_axis];
      size = change(size);
    }
    entry.sequence_lengths.clear();  // of other samples
  }
  for (const auto& user : graph.user_gradients) {
    entries[user.gradient].desc = entries[user.of].desc;
  }
  graph.batch = batch;
  graph.batch_hint = "The graph was loaded for this batch size.";
  derive(graph);
}

void keep_inference(MergedGraph& graph) {
  graph.trains = false;
  if (graph.declares_gradients) drop_later_phases(graph);
  graph.stopped.clear();
  graph.user_gradients.clear();
  graph.given_gradients.clear();
  graph.trainable.clear();
  graph.computes_all_gradients = false;
}

GivenTensors find_given(const std::vector<TensorEntry>& entries,
                        const std::map<std::string, Tensor>& given) {
  GivenTensors found;
  std::unordered_set<std::uint64_t> seen;
  for (const auto& [name, tensor] : given) {
    const auto it = std::ranges::find(entries, name, &TensorEntry::label);
    if (name.empty() || it == entries.end()) {
      throw InvalidArgument(
          ErrorInfo{.op = "load",
                    .node = name,
                    .what = "the file has no tensor of this name",
                    .hint = "Names are the labels that tensors had when the "
                            "graph was exported."});
    }
    require_given_fits(name, *it, tensor);
    if (!seen.insert(tensor.tensor_id()).second) {
      throw InvalidArgument(
          ErrorInfo{.op = "load",
                    .node = name,
                    .what = "the tensor is given under two names"});
    }
    found.emplace(it - entries.begin(), tensor);
  }
  return found;
}

Merged make_objects(MergedGraph graph, const std::vector<TensorEntry>& entries,
                    const GivenTensors& given, OptimizerPtr optimizer) {
  Merged merged;
  merged.graph = std::move(graph);
  MergedGraph& g = merged.graph;
  const std::vector<ValueId> value_of = std::move(g.value_of);
  g.value_of.clear();
  g.tensors.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto it = given.find(i);
    merged.add(it == given.end() ? make_tensor(entries[i]) : it->second);
    g.tensors[i].is_statistic = entries[i].is_statistic;
    g.value_of[i] = value_of[i];
  }
  for (const auto& user : g.user_gradients) {
    const ValueId value = g.find(user.of);
    const BatchAxis& batch = g.program.value(value).batch;
    merged.objects.tensors[user.gradient].state()->batch_axis =
        batch ? std::optional(batch.axis) : std::nullopt;
  }
  add_own_tensors(merged, random_state_of(g), std::move(optimizer),
                  /*keeps_host_data=*/false);
  return merged;
}

}  // namespace traingraph
