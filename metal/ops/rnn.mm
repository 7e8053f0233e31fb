// SPDX-License-Identifier: MIT
// The recurrent ops by MPSGraph's own; rnn_unrolled.mm has the rest. The source
// is multiplied by its weights already, so there are no input weights and no
// bias here.
#include "metal/assumptions.h"
#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/rnn_call.h"
#include "metal/ops/rnn_choice.h"

namespace traingraph::metal {
namespace {

using enum Operand;
using Tensors = NSArray<MPSGraphTensor*>*;

MPSGraphRNNActivation mps_activation(const ActivationAttrs& f) {
  switch (f.type) {
    case ActivationType::Sigmoid:
      return MPSGraphRNNActivationSigmoid;
    case ActivationType::Tanh:
      return MPSGraphRNNActivationTanh;
    case ActivationType::ReLU:
      return MPSGraphRNNActivationRelu;
    case ActivationType::HardSigmoid:
      return MPSGraphRNNActivationHardSigmoid;
    default:
      return MPSGraphRNNActivationNone;
  }
}

MPSGraphLSTMDescriptor* descriptor_of(const LstmAttrs& attrs,
                                      const RnnCall& call) {
  MPSGraphLSTMDescriptor* descriptor = [MPSGraphLSTMDescriptor descriptor];
  const auto f = gate_activations(attrs);
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
  [descriptor setForgetGateLast:attrs.forget_gate_last];
  // The only combination whose results are documented without doubt.
  [descriptor setProduceCell:YES];
  [descriptor setTraining:YES];
  [descriptor setInputGateActivation:mps_activation(f[kInputGate])];
  [descriptor setForgetGateActivation:mps_activation(f[kForgetGate])];
  [descriptor setCellGateActivation:mps_activation(f[kCellGate])];
  [descriptor setOutputGateActivation:mps_activation(f[kOutputGate])];
  [descriptor setActivation:mps_activation(f.back())];
  return descriptor;
}

MPSGraphGRUDescriptor* descriptor_of(const GruAttrs& attrs,
                                     const RnnCall& call) {
  MPSGraphGRUDescriptor* descriptor = [MPSGraphGRUDescriptor descriptor];
  const auto f = gate_activations(attrs);
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
  [descriptor setTraining:YES];
  [descriptor setResetGateFirst:attrs.reset_gate_first];
  [descriptor setResetAfter:attrs.reset_after];
  [descriptor setFlipZ:attrs.flip_z == kGruFlipsAsTheOpSays];
  [descriptor setUpdateGateActivation:mps_activation(f[kUpdateGate])];
  [descriptor setResetGateActivation:mps_activation(f[kResetGate])];
  [descriptor setOutputGateActivation:mps_activation(f[kCandidate])];
  return descriptor;
}

MPSGraphSingleGateRNNDescriptor* descriptor_of(const SingleGateAttrs& attrs,
                                               const RnnCall& call) {
  MPSGraphSingleGateRNNDescriptor* descriptor =
      [MPSGraphSingleGateRNNDescriptor descriptor];
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
  [descriptor setTraining:YES];
  [descriptor setActivation:mps_activation(gate_activations(attrs).front())];
  return descriptor;
}

/// Calls of one node or two, and what MPSGraph gives no gradient of: the mask,
/// and peepholes and a secondary bias that are not there.
class Call : public RnnCall {
 public:
  using RnnCall::RnnCall;

  void run() {
    Tensors results = std::visit(
        [this](const auto& attrs) { return forward(attrs); }, attrs());
    for_each_node([&](int direction) {
      // The sequences, in the order of the op's results.
      for (NSUInteger i = 0; i < [results count]; ++i) {
        const Operand operand = op_.results[i].operand;
        T own = part([results objectAtIndex:i], operand, direction);
        set(own, operand);
        if (operand == Hidden) set(last_row(own), LastHidden);
        if (operand == Cells) set(last_row(own), LastCell);
      }
    });
  }

  void run_gradient() {
    state_ = whole_or_zeros(InitialState);
    if (differentiates(InitialCell)) cell_ = whole_or_zeros(InitialCell);
    Tensors results = std::visit(
        [this](const auto& attrs) { return backward(attrs); }, attrs());
    for_each_node([&](int direction) { set_gradients(results, direction); });
  }

 private:
  Tensors forward(const LstmAttrs& attrs);
  Tensors forward(const GruAttrs& attrs);
  Tensors forward(const SingleGateAttrs& attrs);
  Tensors backward(const LstmAttrs& attrs);
  Tensors backward(const GruAttrs& attrs);
  Tensors backward(const SingleGateAttrs& attrs);
  // No recurrent op has these attributes.
  template <class Attrs>
  Tensors forward(const Attrs&) {
    return nil;
  }
  template <class Attrs>
  Tensors backward(const Attrs&) {
    return nil;
  }

  void set_gradients(Tensors results, int direction) {
    NSUInteger next = 0;
    T dx = nil;
    for (Operand operand :
         {X, Weights, Peephole, InitialState, InitialCell, SecondaryBias}) {
      const bool may_lack = operand == Peephole || operand == SecondaryBias;
      if (!differentiates(operand) || (may_lack && !has(operand))) continue;
      T own = part([results objectAtIndex:next++], operand, direction);
      if (operand == X) dx = own;
      set(own, operand);
    }
    T state = part(state_, InitialState, direction);
    set(mask_gradient(dx, shifted(states(), state)), Mask);
    if (differentiates(Peephole) && !has(Peephole)) {
      T cell = part(cell_, InitialCell, direction);
      set(peephole_gradient(dx, shifted(input(Cells), cell)), Peephole);
    }
    if (differentiates(SecondaryBias) && !has(SecondaryBias)) {
      set(secondary_bias_gradient(dx), SecondaryBias);
    }
  }

  /// The sequence that the node gave.
  T states() {
    if (has(Hidden)) return input(Hidden);
    return activation_value(b_, gate_activations(attrs()).front(),
                            input(Gates));
  }
  /// The gradient of the mask is that of what it multiplies, times the states
  /// `before`.
  T mask_gradient(T dx, T before) {
    T product = nil;
    if (const auto* gru = std::get_if<GruAttrs>(&attrs())) {
      T both = product_of_steps(blocks_of(dx, 2, 0, 2), 0, 2);
      T candidate = gru->reset_after
                        ? product_of_steps(after_reset(dx), kCandidate, 1)
                        : b_.mul(product_of_steps(blocks_of(dx, 2, kCandidate),
                                                  kCandidate, 1),
                                 reset_gate());
      product = b_.add(both, candidate);
    } else {
      product = product_of_steps(dx, 0, op_.num_gates);
    }
    return b_.sum(b_.mul(product, before), shape(Hidden), {0});
  }
  T peephole_gradient(T dx, T cells_before) {
    NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
    const auto& attrs = b_.attrs<LstmAttrs>();
    const int output = gate_blocks(attrs)[kOutputGate];
    for (int block = 0; block < kNumLstmGates; ++block) {
      const bool reads_new =
          block == output && attrs.output_peephole_reads_new_cell;
      T c = reads_new ? input(Cells) : cells_before;
      T sum = b_.sum(b_.mul(blocks_of(dx, 2, block), c), shape(Hidden), {0, 1});
      [parts addObject:b_.reshape(sum, {size_.hidden})];
    }
    return concatenate(b_, parts, 0);
  }
  T secondary_bias_gradient(T dx) {
    if (!b_.attrs<GruAttrs>().reset_after) {
      return b_.broadcast(b_.scalar(0, b_.compute_type()), {size_.hidden});
    }
    return b_.sum(after_reset(dx), shape(Hidden), {0, 1});
  }
  T reset_gate() {
    return blocks_of(input(Gates), 2, gate_blocks(attrs())[kResetGate]);
  }
  T after_reset(T dx) {
    return b_.mul(blocks_of(dx, 2, kCandidate), reset_gate());
  }

  T state_ = nil, cell_ = nil;  // initial ones, of the call
};

Tensors Call::forward(const LstmAttrs& attrs) {
  // Both directions' are (2, 4 H).
  T peephole = whole(Peephole);
  if (peephole && has_both()) {
    peephole = b_.reshape(peephole, {2, shape(Peephole)[0]});
  }
  return [b_.graph() LSTMWithSourceTensor:whole(X)
                          recurrentWeight:whole(Weights)
                              inputWeight:nil
                                     bias:nil
                                initState:whole(InitialState)
                                 initCell:whole(InitialCell)
                                     mask:whole(Mask)
                                 peephole:peephole
                               descriptor:descriptor_of(attrs, *this)
                                     name:b_.name()];
}

Tensors Call::forward(const GruAttrs& attrs) {
  return [b_.graph() GRUWithSourceTensor:whole(X)
                         recurrentWeight:whole(Weights)
                             inputWeight:nil
                                    bias:nil
                               initState:whole(InitialState)
                                    mask:whole(Mask)
                           secondaryBias:whole(SecondaryBias)
                              descriptor:descriptor_of(attrs, *this)
                                    name:b_.name()];
}

Tensors Call::forward(const SingleGateAttrs& attrs) {
  return [b_.graph() singleGateRNNWithSourceTensor:whole(X)
                                   recurrentWeight:whole(Weights)
                                       inputWeight:nil
                                              bias:nil
                                         initState:whole(InitialState)
                                              mask:whole(Mask)
                                        descriptor:descriptor_of(attrs, *this)
                                              name:b_.name()];
}

Tensors Call::backward(const LstmAttrs& attrs) {
  T gates = whole(Gates);
  return [b_.graph() LSTMGradientsWithSourceTensor:gates
                                   recurrentWeight:whole(Weights)
                                    sourceGradient:whole_or_zeros(Hidden, true)
                                            zState:gates
                                     cellOutputFwd:whole(Cells)
                                     stateGradient:whole(LastHidden, true)
                                      cellGradient:whole(LastCell, true)
                                       inputWeight:nil
                                              bias:nil
                                         initState:state_
                                          initCell:cell_
                                              mask:whole(Mask)
                                          peephole:whole(Peephole)
                                        descriptor:descriptor_of(attrs, *this)
                                              name:b_.name()];
}

Tensors Call::backward(const GruAttrs& attrs) {
  T gates = whole(Gates);
  return [b_.graph() GRUGradientsWithSourceTensor:gates
                                  recurrentWeight:whole(Weights)
                                   sourceGradient:whole_or_zeros(Hidden, true)
                                           zState:gates
                                        outputFwd:whole(Hidden)
                                    stateGradient:whole(LastHidden, true)
                                      inputWeight:nil
                                             bias:nil
                                        initState:state_
                                             mask:whole(Mask)
                                    secondaryBias:whole(SecondaryBias)
                                       descriptor:descriptor_of(attrs, *this)
                                             name:b_.name()];
}

Tensors Call::backward(const SingleGateAttrs& attrs) {
  T gates = whole(Gates);
  return [b_.graph()
      singleGateRNNGradientsWithSourceTensor:gates
                             recurrentWeight:whole(Weights)
                              sourceGradient:whole_or_zeros(Hidden, true)
                                      zState:gates
                               stateGradient:whole(LastHidden, true)
                                 inputWeight:nil
                                        bias:nil
                                   initState:state_
                                        mask:whole(Mask)
                                  descriptor:descriptor_of(attrs, *this)
                                        name:b_.name()];
}

/// Is MPSGraph's op as the node is?
bool has_mps_op(RnnNode node) {
  return has_mps_rnn(node.attrs(), node.has(Peephole), node.has(Lengths));
}

void lower_steps(GraphBuilder& b) {
  if (!has_mps_op(RnnNode(b))) return compose_rnn(b);
  Call(b).run();
}

void lower_gradient(GraphBuilder& b) {
  const RnnNode node(b);
  // The states are computed again by nobody else.
  const bool has_states =
      std::holds_alternative<SingleGateAttrs>(node.attrs()) || node.has(Hidden);
  const bool has_more = node.has(Cells, true) || node.has(Gates, true);
  if (has_more || !has_states || !kRnnGradientsIgnoreTheSource ||
      !has_mps_op(node)) {
    return compose_rnn(b);
  }
  Call(b).run_gradient();
}

}  // namespace

void lower_lstm_steps(GraphBuilder& b) { lower_steps(b); }
void lower_lstm_steps_gradient(GraphBuilder& b) { lower_gradient(b); }
void lower_gru_steps(GraphBuilder& b) { lower_steps(b); }
void lower_gru_steps_gradient(GraphBuilder& b) { lower_gradient(b); }
void lower_single_gate_steps(GraphBuilder& b) { lower_steps(b); }
void lower_single_gate_steps_gradient(GraphBuilder& b) { lower_gradient(b); }

}  // namespace traingraph::metal
