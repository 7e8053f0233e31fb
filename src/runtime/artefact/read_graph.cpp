// SPDX-License-Identifier: MIT
#include "runtime/artefact/read_graph.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "compiler/passes/batch_axis.h"
#include "graph/op_def.h"
#include "runtime/artefact/check_tables.h"
#include "runtime/artefact/read_program.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

// largest_batch() looks no further, either.
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 24;

/// Finds the value of each tensor. The one input that is no tensor of the
/// user's is the random state.
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
          ? Tensor(entry.desc, entry.name, entry.batch_axis)
          : Tensor(SequenceDescriptor(entry.desc.shape, entry.sequence_lengths,
                                      entry.sorted_sequences,
                                      entry.desc.data_type),
                   entry.name, entry.batch_axis);
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

std::vector<bool> read_by_forward(const Program& program) {
  std::vector<bool> is_read(program.values().size(), false);
  for (const Node& node : program.nodes()) {
    if (node.phase != Phase::Forward) continue;
    for (ValueId v : node.inputs) {
      if (v != kNoValue) is_read[v] = true;
    }
  }
  return is_read;
}

/// The forward nodes, and what they read, in a program of their own; `place`
/// gets the new ids.
Program forward_of(const Program& program, std::vector<ValueId>& place) {
  Program result;
  const std::vector<bool> is_read = read_by_forward(program);
  place.assign(program.values().size(), kNoValue);
  for (std::size_t v = 0; v < place.size(); ++v) {
    const Value& value = program.values()[v];
    if (value.producer < 0) {
      if (!is_read[v]) continue;
      place[v] =
          result.add_value(value.role, value.desc, value.name, value.tensor);
      result.value(place[v]).batch = value.batch;
      continue;
    }
    const Node& node = program.node(value.producer);
    const bool is_first = std::cmp_equal(node.outputs.front(), v);
    if (node.phase != Phase::Forward || !is_first) continue;
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? kNoValue : place[input]);
    }
    result.position = {Phase::Forward, node.layer, node.name};
    const auto made =
        result.append(node.op->kind, node.attrs, inputs, node.name);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Value& old = program.value(node.outputs[i]);
      place[node.outputs[i]] = made[i];
      result.value(made[i]).name = old.name;
      result.value(made[i]).tensor = old.tensor;
    }
  }
  result.position = {};
  return result;
}

/// What later phases compute is no tensor any more.
void drop_later_phases(MergedGraph& graph) {
  std::vector<ValueId> place;
  graph.program = forward_of(graph.program, place);
  for (ValueId& value : graph.value_of) {
    if (value != kNoValue) value = place[value];
  }
  if (graph.result != kNoValue) graph.result = place[graph.result];
  const auto is_gone = [&](TensorIndex tensor) {
    return graph.find(tensor) == kNoValue;
  };
  std::erase_if(graph.outputs,
                [&](const auto& output) { return is_gone(output.second); });
  std::erase_if(graph.losses, [&](int layer) {
    return is_gone(graph.layers[layer].results.front());
  });
  for (LayerInfo& layer : graph.layers) {
    std::erase_if(layer.results, is_gone);
  }
  graph.declares_gradients = false;
  for (auto* names : {&graph.inputs, &graph.labels, &graph.label_weights}) {
    std::erase_if(
        *names, [&](const auto& declared) { return is_gone(declared.second); });
  }
  graph.depends_on_labels = values_of_labels(graph);
  derive(graph);
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
  if (batch < 0 || batch > kMaxBatch || graph.batch < 2) {
    throw InvalidArgument(ErrorInfo{
        .op = "load",
        .node = "batch_size",
        .what = "the graph cannot have this batch size",
        .expected = graph.batch < 2 ? "0: a batch of 1 does not tell where the "
                                      "batch is"
                                    : "1 to " + std::to_string(kMaxBatch),
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
  graph.rules.clear();
  graph.accumulates_gradients = false;
  graph.weights_gradients = false;
  graph.computes_all_gradients = false;
}

GivenTensors find_given(const std::vector<TensorEntry>& entries,
                        const std::map<std::string, Tensor>& given) {
  GivenTensors found;
  std::unordered_set<std::uint64_t> seen;
  for (const auto& [name, tensor] : given) {
    const auto it = std::ranges::find(entries, name, &TensorEntry::name);
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
