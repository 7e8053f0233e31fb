// SPDX-License-Identifier: MIT
// Graph: which layer consumes which tensors. A handle: copies are the same
// graph, and training and inference graphs made of it share its parameters.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "traingraph/device.h"
#include "traingraph/layer.h"
#include "traingraph/op_attrs.h"
#include "traingraph/phase.h"
#include "traingraph/rnn.h"
#include "traingraph/tensor.h"

namespace traingraph {

struct GraphState;

struct NodeOptions {
  /// The optimizer skips this layer's parameters; gradients still flow.
  bool disable_update = false;
  /// Returns the labels of a loss layer.
  std::vector<Tensor> loss_labels = {};
};

using TensorFunction = std::function<Tensor(const Tensor&)>;
/// A step of a chain is a layer, or a function that adds nodes itself.
using SequenceStep = std::variant<LayerPtr, TensorFunction>;

class TRAINGRAPH_API Graph {
 public:
  Graph();

  /// Adds a node and returns its first result. Shapes and data types are
  /// checked here: ShapeError, DTypeError, InvalidArgument; StateError when
  /// the graph was compiled.
  Tensor node(LayerPtr layer, std::vector<Tensor> sources,
              const NodeOptions& options = {});
  Tensor node(LayerPtr layer, Tensor source, const NodeOptions& options = {}) {
    return node(std::move(layer), std::vector{std::move(source)}, options);
  }
  /// Adds a chain of nodes: graph.sequence(x, {layer, layer, function}). Each
  /// gets the result before; returns the last one. Throws as node(), and says
  /// which one it is of; the nodes before that stay.
  Tensor sequence(Tensor source, const std::vector<SequenceStep>& steps);
  /// Adds one op of the op table; an empty Tensor skips an optional input, axes
  /// below 0 count from the end. Gradient ops that are nodes of a graph belong
  /// to Phase::Gradient. InvalidArgument when an input comes from a later one.
  std::vector<Tensor> op(OpKind kind, Attributes attributes,
                         std::vector<Tensor> inputs, std::string name = {},
                         Phase phase = Phase::Forward);

  /// Gives the same elements another shape; one size may be -1.
  Tensor reshape(Shape shape, const Tensor& source);
  /// Result axis k is source axis axes[k].
  Tensor transpose(Shape axes, const Tensor& source);
  Tensor concatenate(std::vector<Tensor> sources, std::int64_t axis = 1);
  /// ceil(n / count) elements per part, the last part may be smaller.
  std::vector<Tensor> split(const Tensor& source, std::int64_t split_count,
                            std::int64_t axis);
  std::vector<Tensor> split(const Tensor& source, Shape split_section_lengths,
                            std::int64_t axis);
  /// sources = {x, y}: x where `condition` is true, else y.
  Tensor select(std::vector<Tensor> sources, const Tensor& condition);
  /// The elements of `source` that `indices` name; see layers::Gather.
  Tensor gather(std::int64_t axis, const Tensor& source, const Tensor& indices);
  /// A copy of `copy_from` with those of `source` where `indices` name; see
  /// layers::Scatter.
  Tensor scatter(std::int64_t axis, const Tensor& source, const Tensor& indices,
                 const Tensor& copy_from,
                 ReductionType reduction_type = ReductionType::None);

  // MPSGraph's recurrent ops, as rnn.h and docs/recurrent.md describe them. The
  // source is (T, N, I), or (T, N, D G H) without an input weight; the
  // recurrent weight (G H, H), with two directions (2, G H, H).

  /// The states (T, N, D H); when training also the training state (T, N,
  /// D 3 H).
  std::vector<Tensor> gru(const Tensor& source, const Tensor& recurrent_weight,
                          const GRUInputs& inputs = {},
                          const GRUDescriptor& descriptor = {},
                          std::string name = {});
  /// Gradients of source, recurrent weight, input weight, bias, initial state
  /// and secondary bias, without those of inputs that are absent. All inputs
  /// and the descriptor are those of gru(); `state_gradient` is that of the
  /// last states, (N, D H), or empty.
  std::vector<Tensor> gru_gradients(
      const Tensor& source, const Tensor& recurrent_weight,
      const Tensor& source_gradient, const Tensor& z_state,
      const Tensor& output_fwd, const Tensor& state_gradient = {},
      const GRUInputs& inputs = {}, const GRUDescriptor& descriptor = {},
      std::string name = {});
  /// The states; with `produce_cell` the cells; when training the training
  /// state (T, N, D 4 H).
  std::vector<Tensor> lstm(const Tensor& source, const Tensor& recurrent_weight,
                           const LSTMInputs& inputs = {},
                           const LSTMOpDescriptor& descriptor = {},
                           std::string name = {});
  /// Gradients of source, recurrent weight, input weight, bias, peephole,
  /// initial state and initial cell, without those of inputs that are absent.
  std::vector<Tensor> lstm_gradients(
      const Tensor& source, const Tensor& recurrent_weight,
      const Tensor& source_gradient, const Tensor& z_state,
      const Tensor& cell_output_fwd, const Tensor& state_gradient = {},
      const Tensor& cell_gradient = {}, const LSTMInputs& inputs = {},
      const LSTMOpDescriptor& descriptor = {}, std::string name = {});
  /// The states; when training the training state (T, N, D H), which is what
  /// the activation gets.
  std::vector<Tensor> single_gate_rnn(
      const Tensor& source, const Tensor& recurrent_weight,
      const SingleGateRNNInputs& inputs = {},
      const SingleGateRNNDescriptor& descriptor = {}, std::string name = {});
  /// Gradients of source, recurrent weight, input weight, bias and initial
  /// state, without those of inputs that are absent.
  std::vector<Tensor> single_gate_rnn_gradients(
      const Tensor& source, const Tensor& recurrent_weight,
      const Tensor& source_gradient, const Tensor& z_state,
      const Tensor& state_gradient = {}, const SingleGateRNNInputs& inputs = {},
      const SingleGateRNNDescriptor& descriptor = {}, std::string name = {});

  /// Lists every layer once, in the order of first nodes.
  std::vector<LayerPtr> layers() const;
  /// The lists are empty for a layer that is not in the graph.
  std::vector<Tensor> source_tensors(const Layer& layer) const;
  std::vector<Tensor> result_tensors(const Layer& layer) const;
  /// Device it was compiled for.
  virtual std::optional<Device> device() const;
  /// Graphviz text of layers and tensors; dashed edges: stopped gradient.
  virtual std::string summarized_dot_description() const;

  virtual ~Graph() = default;
  Graph(const Graph&) = default;
  Graph(Graph&&) = default;
  Graph& operator=(const Graph&) = default;
  Graph& operator=(Graph&&) = default;
  bool operator==(const Graph& other) const { return state_ == other.state_; }
  const std::shared_ptr<GraphState>& state() const& { return state_; }
  std::shared_ptr<GraphState> state() const&& { return state_; }

 protected:
  explicit Graph(std::shared_ptr<GraphState> state)
      : state_(std::move(state)) {}
  std::shared_ptr<GraphState> state_;
};

}  // namespace traingraph
