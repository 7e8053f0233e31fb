// SPDX-License-Identifier: MIT
// Graph's recurrent ops and the checks of their descriptors.
#include <utility>

#include "layers/rnn_op.h"
#include "layers/validate.h"
#include "traingraph/graph.h"

namespace traingraph {
namespace {

void require_activation(const char* op, const char* field,
                        ActivationType type) {
  using enum ActivationType;
  const bool is_known = type == None || type == ReLU || type == Tanh ||
                        type == Sigmoid || type == HardSigmoid;
  require_option(is_known, op, field,
                 "none, relu, tanh, sigmoid or hard_sigmoid",
                 std::string(to_string(type)),
                 "The ops gru_steps, lstm_steps and single_gate_steps take any "
                 "activation.");
}

RnnOp op_of(const GRUDescriptor& d, bool is_gradient) {
  d.validate();
  return {.name = is_gradient ? "gru_gradients" : "gru",
          .kind = OpKind::GruSteps,
          .attrs = GruAttrs{.reset_gate_first = d.reset_gate_first,
                            .reset_after = d.reset_after,
                            .flip_z = d.flip_z,
                            .update_gate_activation = d.update_gate_activation,
                            .reset_gate_activation = d.reset_gate_activation,
                            .output_gate_activation = d.output_gate_activation},
          .is_reverse = d.reverse,
          .is_bidirectional = d.bidirectional,
          .is_training = d.training,
          .is_gradient = is_gradient};
}

RnnOp op_of(const LSTMOpDescriptor& d, bool is_gradient) {
  d.validate();
  return {.name = is_gradient ? "lstm_gradients" : "lstm",
          .kind = OpKind::LstmSteps,
          .attrs = LstmAttrs{.forget_gate_last = d.forget_gate_last,
                             .input_gate_activation = d.input_gate_activation,
                             .forget_gate_activation = d.forget_gate_activation,
                             .cell_gate_activation = d.cell_gate_activation,
                             .output_gate_activation = d.output_gate_activation,
                             .activation = d.activation},
          .is_reverse = d.reverse,
          .is_bidirectional = d.bidirectional,
          .is_training = d.training,
          .produces_cell = d.produce_cell,
          .is_gradient = is_gradient};
}

RnnOp op_of(const SingleGateRNNDescriptor& d, bool is_gradient) {
  d.validate();
  return {.name = is_gradient ? "single_gate_rnn_gradients" : "single_gate_rnn",
          .kind = OpKind::SingleGateSteps,
          .attrs = SingleGateAttrs{.activation = d.activation},
          .is_reverse = d.reverse,
          .is_bidirectional = d.bidirectional,
          .is_training = d.training,
          .is_gradient = is_gradient};
}

/// A node under construction.
template <class Descriptor>
class NewNode {
 public:
  NewNode(const Descriptor& descriptor, bool is_gradient, std::string name)
      : layer_(std::make_shared<RnnOpLayer>(op_of(descriptor, is_gradient))) {
    if (!name.empty()) layer_->set_name(std::move(name));
  }
  void require(RnnInput input, const Tensor& tensor) {
    layer_->add(input, tensor, /*is_required=*/true);
  }
  void add(RnnInput input, const Tensor& tensor) { layer_->add(input, tensor); }
  void add(const GRUInputs& in) {
    add_shared(in);
    add(RnnInput::SecondaryBias, in.secondary_bias);
  }
  void add(const LSTMInputs& in) {
    add_shared(in);
    add(RnnInput::InitCell, in.init_cell);
    add(RnnInput::Peephole, in.peephole);
  }
  void add(const SingleGateRNNInputs& in) { add_shared(in); }

  std::vector<Tensor> add_to(Graph& graph) const {
    graph.node(layer_, layer_->sources());
    return graph.result_tensors(*layer_);
  }

 private:
  template <class Inputs>
  void add_shared(const Inputs& in) {
    add(RnnInput::InputWeight, in.input_weight);
    add(RnnInput::Bias, in.bias);
    add(RnnInput::InitState, in.init_state);
    add(RnnInput::Mask, in.mask);
  }

  std::shared_ptr<RnnOpLayer> layer_;
};

template <class Descriptor, class Inputs>
std::vector<Tensor> add_forward(Graph& graph, const Tensor& source,
                                const Tensor& recurrent_weight,
                                const Inputs& inputs,
                                const Descriptor& descriptor,
                                std::string name) {
  NewNode<Descriptor> node(descriptor, /*is_gradient=*/false, std::move(name));
  node.require(RnnInput::Source, source);
  node.require(RnnInput::RecurrentWeight, recurrent_weight);
  node.add(inputs);
  return node.add_to(graph);
}

template <class Descriptor>
NewNode<Descriptor> begin_gradients(const Tensor& source,
                                    const Tensor& recurrent_weight,
                                    const Tensor& source_gradient,
                                    const Tensor& z_state,
                                    const Tensor& state_gradient,
                                    const Descriptor& descriptor,
                                    std::string name) {
  NewNode<Descriptor> node(descriptor, /*is_gradient=*/true, std::move(name));
  node.require(RnnInput::Source, source);
  node.require(RnnInput::RecurrentWeight, recurrent_weight);
  node.require(RnnInput::SourceGradient, source_gradient);
  node.require(RnnInput::ZState, z_state);
  node.add(RnnInput::StateGradient, state_gradient);
  return node;
}

}  // namespace

void GRUDescriptor::validate() const {
  constexpr const char* kOp = "GRUDescriptor";
  require_activation(kOp, "update_gate_activation", update_gate_activation);
  require_activation(kOp, "reset_gate_activation", reset_gate_activation);
  require_activation(kOp, "output_gate_activation", output_gate_activation);
}

void LSTMOpDescriptor::validate() const {
  constexpr const char* kOp = "LSTMOpDescriptor";
  require_activation(kOp, "input_gate_activation", input_gate_activation);
  require_activation(kOp, "forget_gate_activation", forget_gate_activation);
  require_activation(kOp, "cell_gate_activation", cell_gate_activation);
  require_activation(kOp, "output_gate_activation", output_gate_activation);
  require_activation(kOp, "activation", activation);
}

void SingleGateRNNDescriptor::validate() const {
  require_activation("SingleGateRNNDescriptor", "activation", activation);
}

std::vector<Tensor> Graph::gru(const Tensor& source,
                               const Tensor& recurrent_weight,
                               const GRUInputs& inputs,
                               const GRUDescriptor& descriptor,
                               std::string name) {
  return add_forward(*this, source, recurrent_weight, inputs, descriptor,
                     std::move(name));
}

std::vector<Tensor> Graph::lstm(const Tensor& source,
                                const Tensor& recurrent_weight,
                                const LSTMInputs& inputs,
                                const LSTMOpDescriptor& descriptor,
                                std::string name) {
  return add_forward(*this, source, recurrent_weight, inputs, descriptor,
                     std::move(name));
}

std::vector<Tensor> Graph::single_gate_rnn(
    const Tensor& source, const Tensor& recurrent_weight,
    const SingleGateRNNInputs& inputs,
    const SingleGateRNNDescriptor& descriptor, std::string name) {
  return add_forward(*this, source, recurrent_weight, inputs, descriptor,
                     std::move(name));
}

std::vector<Tensor> Graph::gru_gradients(
    const Tensor& source, const Tensor& recurrent_weight,
    const Tensor& source_gradient, const Tensor& z_state,
    const Tensor& output_fwd, const Tensor& state_gradient,
    const GRUInputs& inputs, const GRUDescriptor& descriptor,
    std::string name) {
  auto node =
      begin_gradients(source, recurrent_weight, source_gradient, z_state,
                      state_gradient, descriptor, std::move(name));
  node.require(RnnInput::OutputFwd, output_fwd);
  node.add(inputs);
  return node.add_to(*this);
}

std::vector<Tensor> Graph::lstm_gradients(
    const Tensor& source, const Tensor& recurrent_weight,
    const Tensor& source_gradient, const Tensor& z_state,
    const Tensor& cell_output_fwd, const Tensor& state_gradient,
    const Tensor& cell_gradient, const LSTMInputs& inputs,
    const LSTMOpDescriptor& descriptor, std::string name) {
  auto node =
      begin_gradients(source, recurrent_weight, source_gradient, z_state,
                      state_gradient, descriptor, std::move(name));
  node.require(RnnInput::CellOutputFwd, cell_output_fwd);
  node.add(RnnInput::CellGradient, cell_gradient);
  node.add(inputs);
  return node.add_to(*this);
}

std::vector<Tensor> Graph::single_gate_rnn_gradients(
    const Tensor& source, const Tensor& recurrent_weight,
    const Tensor& source_gradient, const Tensor& z_state,
    const Tensor& state_gradient, const SingleGateRNNInputs& inputs,
    const SingleGateRNNDescriptor& descriptor, std::string name) {
  auto node =
      begin_gradients(source, recurrent_weight, source_gradient, z_state,
                      state_gradient, descriptor, std::move(name));
  node.add(inputs);
  return node.add_to(*this);
}

}  // namespace traingraph
