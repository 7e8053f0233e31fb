// SPDX-License-Identifier: MIT
#include "compiler/declaration.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/format.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The number in a default name differs from run to run.
void name_unlabelled(const Tensor& tensor, const std::string& name) {
  std::scoped_lock lock(tensor.state()->mutex);
  if (tensor.state()->name.empty()) tensor.state()->name = name;
}

/// Says whether the tensor is the result of a node of the graph object.
bool produces(const GraphState& graph, const Tensor& tensor) {
  std::scoped_lock lock(graph.mutex);
  const auto it = graph.value_of.find(tensor.tensor_id());
  return it != graph.value_of.end() &&
         graph.program.value(it->second).role == Role::Result;
}

/// Throws when it is opaque state, which has no bytes that anyone could read.
void require_readable(const Declaration& declaration, const char* call,
                      const Tensor& tensor) {
  for (const auto& graph : declaration.graphs) {
    std::scoped_lock lock(graph->mutex);
    const auto it = graph->value_of.find(tensor.tensor_id());
    if (it == graph->value_of.end()) continue;
    if (!graph->program.value(it->second).is_opaque) continue;
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = tensor.name(),
                  .what = "the tensor is opaque state",
                  .expected = "a tensor with a shape",
                  .hint = "Only the matching gradient op reads it."});
  }
}

/// Says whether a value that has a tensor is floats that a forward node
/// computes, and has a gradient. Losses have a seed of their own.
bool takes_gradient(const GraphState& graph, ValueId value) {
  const Value& result = graph.program.value(value);
  const bool is_readable = result.role == Role::Result && !result.is_opaque;
  if (!is_readable || !is_float(result.desc.data_type)) return false;
  const Node& node = graph.program.node(result.producer);
  if (node.layer >= 0) return !graph.records[node.layer].layer->is_loss();
  return node.phase == Phase::Forward &&
         node.op->no_gradient == NoGradient::Undeclared;
}

void require_unique_names(const Declaration& d,
                          const Declaration::Names& more) {
  for (const auto& [name, tensor] : more) {
    const bool is_known = d.inputs.contains(name) || d.labels.contains(name) ||
                          d.label_weights.contains(name);
    if (is_known) {
      throw InvalidArgument(ErrorInfo{.op = "add_inputs",
                                      .node = name,
                                      .what = "the name is declared already",
                                      .expected = "a new name",
                                      .got = "\"" + name + "\""});
    }
    if (!tensor) {
      throw InvalidArgument(ErrorInfo{
          .op = "add_inputs", .node = name, .what = "there is no tensor"});
    }
    if (d.produces(tensor)) {
      throw InvalidArgument(
          ErrorInfo{.op = "add_inputs",
                    .node = name,
                    .what = "the tensor is the result of a node",
                    .expected = "a tensor that the host writes",
                    .got = "\"" + tensor.name() + "\"",
                    .hint = "Read results with add_outputs."});
    }
  }
}

}  // namespace

void Declaration::add_graphs(const std::vector<Graph>& objects) {
  for (const Graph& graph : objects) {
    if (std::ranges::find(graphs, graph.state()) != graphs.end()) {
      throw InvalidArgument(ErrorInfo{
          .op = "graph_objects", .what = "a graph object is listed twice"});
    }
    graphs.push_back(graph.state());
  }
}

bool Declaration::is_loss(const std::string& name, const Tensor& result) const {
  constexpr const char* kOp = "TrainingGraph";
  const std::string node = name.empty() && result ? result.name() : name;
  const auto require = [&](bool ok, const char* what, const char* expected,
                           const std::string& got, const char* hint = "") {
    if (ok) return;
    throw InvalidArgument(ErrorInfo{.op = kOp,
                                    .node = node,
                                    .what = what,
                                    .expected = expected,
                                    .got = got,
                                    .hint = hint});
  };
  require(bool(result), "there is no loss", "a result of a node", "no tensor");
  const std::string got = "\"" + result.name() + "\"";
  require(produces(result), "the loss is not computed by these graphs",
          "the result of a node of a graph that is listed", got,
          "List the graph that it is from; labels are no losses.");
  require_readable(*this, kOp, result);
  if (!is_float(result.data_type())) {
    throw DTypeError(
        ErrorInfo{.op = kOp,
                  .node = node,
                  .what = "a loss is a number with a gradient",
                  .expected = names_of(kFloat),
                  .got = std::string(to_string(result.data_type()))});
  }
  for (const auto& graph : graphs) {
    std::scoped_lock lock(graph->mutex);
    const auto found = graph->value_of.find(result.tensor_id());
    if (found == graph->value_of.end()) continue;
    const Value& value = graph->program.value(found->second);
    if (value.role != Role::Result) continue;
    const Node& maker = graph->program.node(value.producer);
    require(maker.phase == Phase::Forward, "a gradient is no loss",
            "the result of a forward node", got);
    if (maker.layer < 0 || !graph->records[maker.layer].layer->is_loss()) break;
    require(name.empty() || name == maker.name,
            "the loss of a node has the node's name", maker.name.c_str(),
            "\"" + name + "\"",
            "Give the layer this label, or list it without a name.");
    return true;
  }
  return false;
}

bool Declaration::has_nodes() const {
  return std::ranges::any_of(graphs, [](const auto& graph) {
    std::scoped_lock lock(graph->mutex);
    return !graph->program.nodes().empty();
  });
}

bool Declaration::produces(const Tensor& tensor) const {
  return std::ranges::any_of(graphs, [&](const auto& graph) {
    return traingraph::produces(*graph, tensor);
  });
}

bool Declaration::uses(const Tensor& tensor) const {
  return std::ranges::any_of(graphs, [&](const auto& graph) {
    std::scoped_lock lock(graph->mutex);
    return graph->value_of.contains(tensor.tensor_id());
  });
}

void Declaration::add_inputs(const Names& more_inputs, const Names& more_labels,
                             const Names& more_label_weights) {
  Names all;
  for (const Names* map : {&more_inputs, &more_labels, &more_label_weights}) {
    require_unique_names(*this, *map);
    for (const auto& [name, tensor] : *map) {
      if (all.emplace(name, tensor).second) continue;
      throw InvalidArgument(
          ErrorInfo{.op = "add_inputs",
                    .node = name,
                    .what = "the name is used twice",
                    .expected = "unique names over inputs, labels and weights",
                    .got = "\"" + name + "\""});
    }
  }
  std::unordered_set<std::uint64_t> known;
  for (const Names* map : {&inputs, &labels, &label_weights}) {
    for (const auto& [name, tensor] : *map) known.insert(tensor.tensor_id());
  }
  for (const auto& [name, tensor] : all) {
    if (known.insert(tensor.tensor_id()).second) continue;
    throw InvalidArgument(
        ErrorInfo{.op = "add_inputs",
                  .node = name,
                  .what = "the tensor is declared under two names",
                  .expected = "one name per tensor",
                  .got = "\"" + tensor.name() + "\" again"});
  }
  for (const auto& [name, tensor] : all) name_unlabelled(tensor, name);
  inputs.insert(more_inputs.begin(), more_inputs.end());
  labels.insert(more_labels.begin(), more_labels.end());
  label_weights.insert(more_label_weights.begin(), more_label_weights.end());
}

void Declaration::add_outputs(const Names& more) {
  for (const auto& [name, tensor] : more) {
    if (!tensor || !uses(tensor)) {
      throw InvalidArgument(
          ErrorInfo{.op = "add_outputs",
                    .node = name,
                    .what = "the tensor belongs to no node of this graph",
                    .expected = "a result of one of its nodes",
                    .got = tensor ? "\"" + tensor.name() + "\"" : "no tensor"});
    }
    require_readable(*this, "add_outputs", tensor);
    if (outputs.contains(name)) {
      throw InvalidArgument(ErrorInfo{.op = "add_outputs",
                                      .node = name,
                                      .what = "the name is declared already"});
    }
  }
  outputs.insert(more.begin(), more.end());
}

void Declaration::stop_gradient(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor && uses(tensor)) continue;
    throw InvalidArgument(
        ErrorInfo{.op = "stop_gradient",
                  .node = tensor ? tensor.name() : "",
                  .what = "the tensor belongs to no node of this graph"});
  }
  stopped.insert(stopped.end(), tensors.begin(), tensors.end());
}

void Declaration::set_trained_inputs(std::vector<TensorParameter> parameters) {
  for (const TensorParameter& parameter : parameters) {
    const Tensor& tensor = parameter.tensor();
    const bool fits = tensor && uses(tensor) && !produces(tensor) &&
                      is_float(tensor.data_type());
    if (fits) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "set_training_tensor_parameters",
        .node = tensor ? tensor.name() : "",
        .what = "not an input tensor of this graph",
        .expected = "a tensor of floats that a node reads and none produces",
        .hint = "Parameters of layers are trained anyway."});
  }
  int number = 0;
  for (const TensorParameter& parameter : parameters) {
    name_unlabelled(parameter.tensor(),
                    "parameter_" + std::to_string(++number));
  }
  trained_inputs = std::move(parameters);
}

void Declaration::set_groups(std::vector<ParameterGroup> more) {
  const auto require = [](bool ok, const std::string& node, const char* what,
                          const char* expected, std::string got) {
    if (ok) return;
    throw InvalidArgument(ErrorInfo{.op = "set_parameter_groups",
                                    .node = node,
                                    .what = what,
                                    .expected = expected,
                                    .got = std::move(got)});
  };
  const auto require_number = [&](const char* name, float value) {
    require(std::isfinite(value) && value >= 0, name,
            "not a number that a group can have", "a finite number, at least 0",
            format_value(value));
  };
  for (const ParameterGroup& group : more) {
    require_number("lr_scale", group.lr_scale);
    if (group.weight_decay) require_number("weight_decay", *group.weight_decay);
    std::unordered_set<std::uint64_t> seen;
    for (const Tensor& tensor : group.parameters) {
      require(tensor && uses(tensor) && !produces(tensor),
              tensor ? tensor.name() : "", "not a parameter of this graph",
              "a parameter that a node reads",
              tensor ? "\"" + tensor.name() + "\"" : "no tensor");
      require(seen.insert(tensor.tensor_id()).second, tensor.name(),
              "the parameter is in one group twice", "once", "again");
    }
  }
  groups = std::move(more);
}

void Declaration::set_gradient(const Tensor& parameter,
                               const Tensor& gradient) {
  const auto require = [](bool ok, const Tensor& tensor, const char* what) {
    if (ok) return;
    throw InvalidArgument(ErrorInfo{.op = "set_gradient",
                                    .node = tensor ? tensor.name() : "",
                                    .what = what});
  };
  require(parameter && uses(parameter) && !produces(parameter), parameter,
          "not a parameter that a node of this graph reads");
  require(gradient && produces(gradient), gradient,
          "the gradient is not the result of a node of this graph");
  require_readable(*this, "set_gradient", gradient);
  if (gradient.descriptor() != parameter.descriptor()) {
    throw ShapeError(ErrorInfo{.op = "set_gradient",
                               .node = parameter.name(),
                               .what = "the gradient does not fit",
                               .expected = parameter.descriptor().to_string(),
                               .got = gradient.descriptor().to_string()});
  }
  for (const GivenGradient& given : given_gradients) {
    require(!(given.of == parameter), parameter,
            "the parameter has been given a gradient already");
  }
  given_gradients.push_back({parameter, gradient});
}

Tensor Declaration::allocate_user_gradient(const Tensor& tensor) {
  if (!tensor || !produces(tensor)) {
    throw InvalidArgument(ErrorInfo{
        .op = "allocate_user_gradient",
        .node = tensor ? tensor.name() : "",
        .what = "the tensor is not the result of a node of this graph"});
  }
  require_readable(*this, "allocate_user_gradient", tensor);
  for (const auto& known : user_gradients) {
    if (known.of == tensor) return known.gradient;
  }
  Tensor gradient(tensor.descriptor(), "gradient of " + tensor.name());
  user_gradients.push_back({tensor, gradient});
  return gradient;
}

void Declaration::allocate_boundary_gradients() {
  for (const auto& graph : graphs) {
    std::vector<bool> is_read(graph->program.values().size(), false);
    for (const Node& node : graph->program.nodes()) {
      for (ValueId v : node.inputs) {
        if (v != kNoValue) is_read[v] = true;
      }
    }
    std::unordered_set<std::uint64_t> known;
    for (const auto& user : user_gradients) known.insert(user.of.tensor_id());
    for (const Tensor& tensor : graph->tensors) {
      const ValueId value = graph->value_of.at(tensor.tensor_id());
      if (is_read[value] || !takes_gradient(*graph, value)) continue;
      if (!known.insert(tensor.tensor_id()).second) continue;
      user_gradients.push_back(
          {tensor, Tensor(tensor.descriptor(), "gradient of " + tensor.name()),
           /*is_boundary=*/true});
    }
  }
}

void Declaration::forget_boundary_gradients() {
  std::erase_if(user_gradients,
                [](const auto& user) { return user.is_boundary; });
}

std::vector<Tensor> trainable_parameters(const Declaration& declaration) {
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

}  // namespace traingraph
