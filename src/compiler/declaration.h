// SPDX-License-Identifier: MIT
// Declaration: what the user declared of a training or inference graph before
// compile(). Executions never read it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layers/graph_state.h"
#include "traingraph/enums.h"
#include "traingraph/losses.h"
#include "traingraph/optimizers.h"
#include "traingraph/training_graph.h"

namespace traingraph {

struct Declaration {
  /// Tensors by the names under which executions are given their data.
  using Names = std::map<std::string, Tensor>;

  bool trains = false;
  std::vector<std::shared_ptr<GraphState>> graphs;  // objects, then its own
  std::shared_ptr<const losses::Loss> loss;
  OptimizerPtr optimizer;

  Names inputs, labels, label_weights, outputs;
  Names constants;
  std::vector<Tensor> stopped;
  std::vector<TensorParameter> trained_inputs;
  std::vector<ParameterGroup> groups;
  struct UserGradient {
    Tensor of, gradient;
    bool is_boundary = false;  // made for linking, not asked for
  };
  std::vector<UserGradient> user_gradients;
  struct GivenGradient {
    Tensor of, gradient;
  };
  std::vector<GivenGradient> given_gradients;
  bool computes_all_gradients = false;
  bool is_linkable = false;
  bool accumulates_gradients = false;
  /// Gradients of several processes become one in this way; None: there is one
  /// process.
  GradientAccumulation among_ranks = GradientAccumulation::None;
  bool reduce_losses = false;
  bool debugs_layers = false;
  Precision precision = Precision::Float32;
  /// Pictures of unfinished graphs take an undeclared source for an input.
  bool allows_undeclared = false;

  // Each of these checks all of its arguments before it changes anything.

  void add_graphs(const std::vector<Graph>& objects);
  /// Throws unless `result`, which the user calls `name` or nothing, is a
  /// number with a gradient that a forward node computes. True: that node is a
  /// loss already.
  bool is_loss(const std::string& name, const Tensor& result) const;
  void add_inputs(const Names& more_inputs, const Names& more_labels,
                  const Names& more_label_weights);
  void add_outputs(const Names& more);
  void stop_gradient(const std::vector<Tensor>& tensors);
  void set_trained_inputs(std::vector<TensorParameter> parameters);
  void set_groups(std::vector<ParameterGroup> groups);
  void set_gradient(const Tensor& parameter, const Tensor& gradient);
  Tensor allocate_user_gradient(const Tensor& tensor);
  /// Results of linkable graphs that no node here reads may be inputs of a
  /// linked graph, which then passes their gradients back.
  void allocate_boundary_gradients();
  void forget_boundary_gradients();

  bool has_nodes() const;
  /// Is the tensor a result of a node?
  bool produces(const Tensor& tensor) const;
  /// Does any node read or compute it?
  bool uses(const Tensor& tensor) const;
};

/// The parameters that the optimizer will train, in order.
std::vector<Tensor> trainable_parameters(const Declaration& declaration);

}  // namespace traingraph
