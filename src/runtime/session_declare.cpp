// SPDX-License-Identifier: MIT
// The declaring half of Session: names, outputs, stops, user gradients.
#include <algorithm>

#include "graph/tensor_state.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The number in a default label differs from run to run.
void name_unlabelled(const Tensor& tensor, const std::string& name) {
  std::scoped_lock lock(tensor.state()->mutex);
  if (tensor.state()->label.empty()) tensor.state()->label = name;
}

}  // namespace

Session::Session(bool trains, std::vector<Graph> graph_objects,
                 std::shared_ptr<const losses::Loss> loss,
                 OptimizerPtr optimizer) {
  declaration_.trains = trains;
  for (const Graph& graph : graph_objects) {
    const auto& graphs = declaration_.graphs;
    if (std::ranges::find(graphs, graph.state()) != graphs.end()) {
      throw InvalidArgument(ErrorInfo{
          .op = "graph_objects", .what = "a graph object is listed twice"});
    }
    declaration_.graphs.push_back(graph.state());
  }
  declaration_.loss = std::move(loss);
  declaration_.optimizer = std::move(optimizer);
}

void Session::set_own_graph(std::shared_ptr<GraphState> graph) {
  declaration_.graphs.push_back(std::move(graph));
}

void Session::require_not_compiled(const char* call) const {
  if (!main_) return;
  throw StateError(ErrorInfo{.op = call,
                             .what = "the graph is compiled already",
                             .hint = "Declare everything before compile()."});
}

void Session::require_compiled(const char* call) const {
  if (main_) return;
  throw StateError(ErrorInfo{.op = call,
                             .what = "the graph is not compiled",
                             .hint = "Call compile() first."});
}

void Session::require_training(const char* call) const {
  if (declaration_.trains) return;
  throw StateError(
      ErrorInfo{.op = call, .what = "only training graphs can do this"});
}

void Session::require_unique_names(const TensorMap& more) const {
  for (const auto& [name, tensor] : more) {
    const bool is_known = declaration_.inputs.contains(name) ||
                          declaration_.labels.contains(name) ||
                          declaration_.label_weights.contains(name);
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
    if (produces(tensor)) {
      throw InvalidArgument(
          ErrorInfo{.op = "add_inputs",
                    .node = name,
                    .what = "the tensor is the result of a node",
                    .expected = "a tensor that the host writes",
                    .got = "\"" + tensor.label() + "\"",
                    .hint = "Read results with add_outputs."});
    }
  }
}

bool Session::produces(const Tensor& tensor) const {
  return std::ranges::any_of(declaration_.graphs, [&](const auto& graph) {
    std::scoped_lock lock(graph->mutex);
    const auto it = graph->value_of.find(tensor.tensor_id());
    return it != graph->value_of.end() &&
           graph->program.value(it->second).role == Role::Result;
  });
}

bool Session::uses(const Tensor& tensor) const {
  return std::ranges::any_of(declaration_.graphs, [&](const auto& graph) {
    std::scoped_lock lock(graph->mutex);
    return graph->value_of.contains(tensor.tensor_id());
  });
}

void Session::require_readable(const char* call, const Tensor& tensor) const {
  for (const auto& graph : declaration_.graphs) {
    std::scoped_lock lock(graph->mutex);
    const auto it = graph->value_of.find(tensor.tensor_id());
    if (it == graph->value_of.end()) continue;
    if (!graph->program.value(it->second).is_opaque) continue;
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = tensor.label(),
                  .what = "the tensor is opaque state",
                  .expected = "a tensor with a shape",
                  .hint = "Only the matching gradient op reads it."});
  }
}

void Session::add_inputs(const TensorMap& inputs, const TensorMap& labels,
                         const TensorMap& label_weights) {
  std::scoped_lock lock(mutex_);
  require_not_compiled("add_inputs");
  TensorMap all;
  for (const TensorMap* map : {&inputs, &labels, &label_weights}) {
    require_unique_names(*map);
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
  for (const auto& [name, tensor] : all) {
    const auto is_this = [&](const auto& entry) {
      return entry.second == tensor;
    };
    const bool is_twice =
        std::ranges::count_if(all, is_this) > 1 ||
        std::ranges::any_of(declaration_.inputs, is_this) ||
        std::ranges::any_of(declaration_.labels, is_this) ||
        std::ranges::any_of(declaration_.label_weights, is_this);
    if (!is_twice) continue;
    throw InvalidArgument(
        ErrorInfo{.op = "add_inputs",
                  .node = name,
                  .what = "the tensor is declared under two names",
                  .expected = "one name per tensor",
                  .got = "\"" + tensor.label() + "\" again"});
  }
  for (const auto& [name, tensor] : all) name_unlabelled(tensor, name);
  declaration_.inputs.insert(inputs.begin(), inputs.end());
  declaration_.labels.insert(labels.begin(), labels.end());
  declaration_.label_weights.insert(label_weights.begin(), label_weights.end());
}

void Session::add_outputs(const TensorMap& outputs) {
  std::scoped_lock lock(mutex_);
  require_not_compiled("add_outputs");
  for (const auto& [name, tensor] : outputs) {
    if (!tensor || !uses(tensor)) {
      throw InvalidArgument(ErrorInfo{
          .op = "add_outputs",
          .node = name,
          .what = "the tensor belongs to no node of this graph",
          .expected = "a result of one of its nodes",
          .got = tensor ? "\"" + tensor.label() + "\"" : "no tensor"});
    }
    require_readable("add_outputs", tensor);
    if (declaration_.outputs.contains(name)) {
      throw InvalidArgument(ErrorInfo{.op = "add_outputs",
                                      .node = name,
                                      .what = "the name is declared already"});
    }
  }
  declaration_.outputs.insert(outputs.begin(), outputs.end());
}

void Session::stop_gradient(const std::vector<Tensor>& tensors) {
  std::scoped_lock lock(mutex_);
  require_not_compiled("stop_gradient");
  for (const Tensor& tensor : tensors) {
    if (tensor && uses(tensor)) continue;
    throw InvalidArgument(
        ErrorInfo{.op = "stop_gradient",
                  .node = tensor ? tensor.label() : "",
                  .what = "the tensor belongs to no node of this graph"});
  }
  declaration_.stopped.insert(declaration_.stopped.end(), tensors.begin(),
                              tensors.end());
}

void Session::set_trained_inputs(std::vector<TensorParameter> parameters) {
  std::scoped_lock lock(mutex_);
  require_not_compiled("set_training_tensor_parameters");
  for (const TensorParameter& parameter : parameters) {
    const Tensor& tensor = parameter.tensor();
    const bool fits = tensor && uses(tensor) && !produces(tensor) &&
                      tensor.data_type() == DataType::Float32;
    if (fits) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "set_training_tensor_parameters",
        .node = tensor ? tensor.label() : "",
        .what = "not an input tensor of this graph",
        .expected = "a float32 tensor that a node reads and none produces",
        .hint = "Parameters of layers are trained anyway."});
  }
  int number = 0;
  for (const TensorParameter& parameter : parameters) {
    name_unlabelled(parameter.tensor(),
                    "parameter_" + std::to_string(++number));
  }
  declaration_.trained_inputs = std::move(parameters);
}

Tensor Session::allocate_user_gradient(const Tensor& tensor) {
  std::scoped_lock lock(mutex_);
  require_training("allocate_user_gradient");
  require_not_compiled("allocate_user_gradient");
  if (!tensor || !produces(tensor)) {
    throw InvalidArgument(ErrorInfo{
        .op = "allocate_user_gradient",
        .node = tensor ? tensor.label() : "",
        .what = "the tensor is not the result of a node of this graph"});
  }
  require_readable("allocate_user_gradient", tensor);
  for (const auto& known : declaration_.user_gradients) {
    if (known.of == tensor) return known.gradient;
  }
  Tensor gradient(tensor.descriptor(), "gradient of " + tensor.label());
  declaration_.user_gradients.push_back({tensor, gradient});
  return gradient;
}

}  // namespace traingraph
