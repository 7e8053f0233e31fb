// SPDX-License-Identifier: MIT
// From what the user declared to one program: graph objects are merged by
// tensor identity, the batch size and the mode are applied, the loss, the
// gradients and the updates are appended. A pure function of its arguments,
// so that each batch size is assembled the same way.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autodiff/gradient.h"
#include "layers/graph_state.h"
#include "traingraph/losses.h"
#include "traingraph/optimizers.h"

namespace traingraph {

/// Everything that was declared on a training or inference graph.
struct Declaration {
  bool trains = false;
  std::vector<std::shared_ptr<GraphState>> graphs;  // objects, then its own
  std::shared_ptr<const losses::Loss> loss;
  OptimizerPtr optimizer;

  std::map<std::string, Tensor> inputs, labels, label_weights, outputs;
  std::map<std::string, Tensor> constants;
  std::vector<Tensor> stopped;
  std::vector<TensorParameter> trained_inputs;
  struct UserGradient {
    Tensor of, gradient;
    bool is_boundary = false;  // made for linking, not asked for
  };
  std::vector<UserGradient> user_gradients;
  /// What trainable_parameters() was at compile; flags may change later.
  std::optional<std::vector<Tensor>> trained;
  bool computes_all_gradients = false;
  bool is_linkable = false;
  bool debugs_layers = false;
  /// For pictures of unfinished graphs: an undeclared source is an input.
  bool allows_undeclared = false;

  /// Hidden tensors that every execution writes.
  Tensor rates;         // float32 (4): see the update ops
  Tensor random_state;  // int32 (4): seed and step
  Tensor accumulation;  // float32 (parameters + inputs): link factors
  /// Persistent tensors of each trained parameter, by its tensor id.
  std::unordered_map<std::uint64_t, std::vector<Tensor>> slots;
  /// Gradient accumulators of linkable graphs, by tensor id.
  std::unordered_map<std::uint64_t, Tensor> accumulators;
};

enum class Mode { Training, Inference };

/// A parameter that is trained.
struct Trained {
  Tensor tensor;
  ValueId value = kNoValue;
  ValueId gradient = kNoValue;
};

struct Assembled {
  Program program;
  std::vector<LayerRecord> records;  // Node::layer indexes these
  std::unordered_map<std::uint64_t, ValueId> value_of;  // by tensor id
  GradientMap gradient_of;
  std::vector<ValueId> losses;          // in the order of their layers
  std::vector<std::string> loss_names;  // of their records
  std::vector<ValueId> loss_seeds;      // their gradients: ones
  ValueId result = kNoValue;  // last result of the last graph, before the loss
  std::vector<Trained> trained;
  /// Gradients of declared inputs, when computed.
  std::vector<std::pair<Tensor, ValueId>> input_gradients;
  /// Results of linkable graphs that no node reads: others may.
  std::vector<ValueId> boundary;
  /// Results and gradients of layers that are debugged.
  std::vector<ValueId> debugged;
  /// depends_on_labels[v]: v depends on a label.
  std::vector<bool> depends_on_labels;

  ValueId find(const Tensor& tensor) const;
};

/// The most frequent size of axis 0 among the declared inputs, labels and
/// weights; 0 when nothing is declared.
std::int64_t declared_batch(const Declaration& declaration);

/// Throws ShapeError, InvalidArgument, StateError; UnsupportedError when
/// `batch` differs from the declared one and a node cannot follow.
Assembled assemble(const Declaration& declaration, Mode mode,
                   std::int64_t batch);

/// What the host reads after a run.
std::vector<ValueId> readable_values(const Declaration& declaration,
                                     const Assembled& assembled);

/// Results of the layers that are debugged, when the declaration says so.
std::vector<Tensor> debugged_results(const Declaration& declaration,
                                     const Assembled& assembled);

/// The parameters that the optimizer will train, in order.
std::vector<Tensor> trainable_parameters(const Declaration& declaration);

}  // namespace traingraph
