// SPDX-License-Identifier: MIT
// MergedGraph: what compile() was told, without the objects that told it. One
// forward program of all graph objects, and tables that name tensors and
// layers by their place. It holds no pointer and no id of this process, so that
// it can be written to a file and read back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/distribution/optimizer_shards.h"
#include "graph/program.h"
#include "traingraph/enums.h"
#include "traingraph/error.h"

namespace traingraph {

struct TensorInfo {
  std::string name;
  TensorDescriptor desc;
  bool is_statistic = false;  // of a layer: it follows the data
};

/// One node of the layer face.
struct LayerInfo {
  std::string name;
  bool is_loss = false;
  bool is_debugged = false;
  std::optional<DataType> compute_type = std::nullopt;
  std::vector<TensorIndex> sources = {}, results = {}, parameters = {};
};

/// The optimizer as ops.
struct UpdateRule {
  OpKind op{};
  Attributes attributes;
  std::vector<std::string> slots;  // names of the buffers of each parameter
  GradientClippingType clipping = GradientClippingType::ByValue;
  float maximum_clipping_norm = 1;
  float custom_global_norm = 0;
};

/// A rule says what the optimizer does differently for a parameter.
struct ParameterRule {
  float lr_scale = 1;
  std::optional<float> weight_decay = std::nullopt;
  bool operator==(const ParameterRule&) const = default;
};

struct MergedGraph {
  using Names = std::map<std::string, TensorIndex, std::less<>>;

  bool trains = false;
  /// The program is forward, in training form, at the declared sizes.
  Program program;
  std::int64_t batch = 0;
  /// These say why no smaller batch can run, and what larger ones need.
  std::optional<ErrorInfo> batch_obstacle;
  std::string batch_hint;
  std::vector<TensorInfo> tensors;
  std::vector<LayerInfo> layers;        // Node::layer indexes these
  std::vector<ValueId> value_of;        // by tensor; kNoValue: not in forward
  std::vector<bool> depends_on_labels;  // by value
  std::vector<int> losses;              // layers, in order
  ValueId result = kNoValue;  // last result of the last graph, before the loss

  Names inputs, labels, label_weights, outputs;
  std::vector<TensorIndex> stopped;
  struct UserGradient {
    TensorIndex of = kNoTensor, gradient = kNoTensor;
    bool is_boundary = false;
  };
  std::vector<UserGradient> user_gradients;
  /// Nodes compute these gradients of parameters.
  struct GivenGradient {
    TensorIndex of = kNoTensor, gradient = kNoTensor;
  };
  std::vector<GivenGradient> given_gradients;
  /// Parameters that the optimizer may train, in order.
  std::vector<TensorIndex> trainable;
  std::vector<ParameterRule> rules;  // by place in `trainable`, or none
  /// Nodes were declared for the gradient phase.
  bool declares_gradients = false;
  bool computes_all_gradients = false;
  bool is_linkable = false;
  bool accumulates_gradients = false;
  bool weights_gradients = false;
  /// Losses become those of all processes.
  bool reduce_losses = false;
  Precision precision = Precision::Float32;

  // Hidden tensors are the library's. Every execution writes the first three.
  TensorIndex hyperparameters = kNoTensor;  // float32 (4): see the update ops
  TensorIndex random_state = kNoTensor;     // int32 (4): seed and step
  TensorIndex accumulation = kNoTensor;  // float32: 2 factors per accumulator
  TensorIndex loss_scale = kNoTensor;    // a variable: see update_loss_scale
  /// Gradients of losses begin with this float32 (1), the part of a batch that
  /// is this process's. Every execution that differentiates writes it.
  TensorIndex gradient_weight = kNoTensor;
  /// User gradients have such weights by their place; kNoTensor: they begin as
  /// they are. Linkable graphs have one for each, as what a linked graph passes
  /// on has been weighed where it began.
  std::vector<TensorIndex> user_weights;
  /// These float32, by place in `trainable`, are 1 where this graph updates, 0
  /// where a linked one does. Every update of a linkable graph writes it.
  TensorIndex updated = kNoTensor;
  /// Whose gradients are added up, and where: first those of `trainable`, then,
  /// of linkable graphs, those of inputs.
  struct Accumulator {
    TensorIndex of = kNoTensor;
    TensorIndex into = kNoTensor;  // kNoTensor: no gradient
  };
  std::vector<Accumulator> accumulators;

  std::optional<UpdateRule> update;
  /// The optimizer's buffers stand by place in `trainable`. Their tensors are
  /// the last ones, so that another optimizer can replace them.
  std::vector<std::vector<TensorIndex>> slots;
  /// This process updates these of the trained parameters; empty: all. It has
  /// no buffers of the others.
  std::optional<OptimizerShards> shards;
  /// Elements of a parameter as a tensor, from `begin` on, that are updated
  /// without the rest.
  struct Part {
    TensorIndex of = kNoTensor, tensor = kNoTensor;
    std::int64_t begin = 0;
  };
  std::vector<Part> parts;
  TensorIndex first_slot = kNoTensor;  // or part

  /// Does a step that runs as one use the accumulators, too? Else each of its
  /// gradients is used up at once.
  bool accumulates_in_steps() const { return is_linkable; }
  /// Returns the rule of trainable[place].
  ParameterRule rule(std::size_t place) const {
    return place < rules.size() ? rules[place] : ParameterRule{};
  }
  /// The part of trainable[place] that is updated; null: it is whole.
  const Part* find_part(std::size_t place) const {
    for (const Part& part : parts) {
      if (part.of == trainable[place]) return &part;
    }
    return nullptr;
  }
  ValueId find(TensorIndex tensor) const {
    return tensor == kNoTensor ? kNoValue : value_of[tensor];
  }
  /// Is the tensor a result of a node?
  bool produces(TensorIndex tensor) const {
    const ValueId value = find(tensor);
    return value != kNoValue && program.value(value).role == Role::Result;
  }
};

}  // namespace traingraph
