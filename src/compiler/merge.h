// SPDX-License-Identifier: MIT
// Merging: copies the nodes of all graph objects into one program in which a
// tensor is one value, appends the loss layer, and writes down in tables what
// else was declared. The user's objects stay beside the result.
#pragma once

#include <unordered_map>

#include "compiler/declaration.h"
#include "compiler/merged_graph.h"

namespace traingraph {

/// The user's objects behind the indices of a MergedGraph.
struct UserObjects {
  std::vector<Tensor> tensors;
  std::vector<LayerPtr> layers;  // several entries may be one layer
  OptimizerPtr optimizer;

  /// kNoTensor when the graph does not know the tensor.
  TensorIndex find(const TensorState* tensor) const;
  TensorIndex find(const Tensor& tensor) const {
    return find(tensor.state().get());
  }
  TensorIndex add(const Tensor& tensor);
  void pop_back();

 private:
  std::unordered_map<const TensorState*, TensorIndex> index_of_;
};

struct Merged {
  MergedGraph graph;
  UserObjects objects;

  TensorIndex add(const Tensor& tensor);
  ValueId value_of(const Tensor& tensor) const {
    return graph.find(objects.find(tensor));
  }
};

/// Throws InvalidArgument, StateError.
Merged merge_graphs(const Declaration& declaration);

/// The last part of a merge: the graph's own tensors, `random_state` being the
/// value of one of them (or kNoValue), and the optimizer.
void add_own_tensors(Merged& merged, ValueId random_state,
                     OptimizerPtr optimizer, bool keeps_host_data);

/// Marks the values that are labels or follow from them.
std::vector<bool> values_of_labels(const MergedGraph& graph);

/// Replaces the optimizer and makes its buffers, zeroed, or with what the
/// parameters were given when `keeps_host_data`.
void set_optimizer(Merged& merged, OptimizerPtr optimizer,
                   bool keeps_host_data);

}  // namespace traingraph
