// SPDX-License-Identifier: MIT
// lstm_steps and its gradient by MPSGraph's LSTM; rnn_steps.mm has the rest.
// The source is multiplied by its weights already, so there are no input
// weights and no bias here.
#import "metal/ops/rnn.h"

#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"
#include "metal/ops/rnn_choice.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

MPSGraphLSTMDescriptor* descriptor_of(const LstmAttrs& attrs) {
  MPSGraphLSTMDescriptor* descriptor = [MPSGraphLSTMDescriptor descriptor];
  const auto gates = lstm_gates(attrs);
  [descriptor setReverse:attrs.reverse];
  [descriptor setForgetGateLast:attrs.forget_gate_last];
  // The only combination whose results are documented without doubt.
  [descriptor setProduceCell:YES];
  [descriptor setTraining:YES];
  [descriptor setInputGateActivation:mps_activation(gates[kInputGate])];
  [descriptor setForgetGateActivation:mps_activation(gates[kForgetGate])];
  [descriptor setCellGateActivation:mps_activation(gates[kCellGate])];
  [descriptor setOutputGateActivation:mps_activation(gates[kOutputGate])];
  [descriptor setActivation:mps_activation(lstm_activation(attrs))];
  return descriptor;
}

/// The gradient of the peepholes from those of the gates: what MPSGraph gives
/// no gradient of, when there are none.
T peephole_gradient(GraphBuilder& b, T dx, T cells_before,
                    const RnnSize& size) {
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  const auto blocks = lstm_blocks(b.attrs<LstmAttrs>());
  const bool reads_new = b.attrs<LstmAttrs>().output_peephole_reads_new_cell;
  for (int block = 0; block < kNumLstmGates; ++block) {
    T d = slice_axis(b, dx, 2, block * size.hidden, size.hidden);
    const bool is_output = block == blocks[kOutputGate];
    T c = is_output && reads_new ? b.input(LstmGradientInput::Cells)
                                 : cells_before;
    T sum = b.sum(b.mul(d, c), size.states(), {0, 1});
    [parts addObject:b.reshape(sum, {size.hidden})];
  }
  return concatenate(b, parts, 0);
}

}  // namespace

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

RnnSize rnn_size(const Shape& gates, const Shape& weights) {
  return {gates[0], gates[1], weights[1]};
}

T input_or_zeros(GraphBuilder& b, int input, const Shape& shape) {
  if (b.has(input)) return b.input(input);
  return
      [b.graph() constantWithScalar:0
                              shape:ns_shape(shape)
                           dataType:mps_data_type(b.result_desc().data_type)];
}

T input_or_nil(GraphBuilder& b, int input) {
  return b.has(input) ? b.input(input) : nil;
}

T row_of(GraphBuilder& b, T states, const RnnSize& size, std::int64_t step) {
  return b.reshape(slice_axis(b, states, 0, step, 1), size.state());
}

T shifted(GraphBuilder& b, T states, T first, const RnnSize& size,
          bool is_reverse) {
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  [parts addObject:b.reshape(first, {1, size.samples, size.hidden})];
  if (size.steps > 1) {
    T others = slice_axis(b, states, 0, is_reverse ? 1 : 0, size.steps - 1);
    [parts insertObject:others atIndex:is_reverse ? 0 : 1];
  }
  return concatenate(b, parts, 0);
}

T product_of_steps(GraphBuilder& b, T x, T weights, const RnnSize& size) {
  const std::int64_t width = [[[x shape] lastObject] longLongValue];
  T rows = b.reshape(x, {size.steps * size.samples, width});
  T product = [b.graph() matrixMultiplicationWithPrimaryTensor:rows
                                               secondaryTensor:weights
                                                          name:b.name()];
  return b.reshape(product, size.states());
}

void lower_lstm_steps(GraphBuilder& b) {
  using In = LstmInput;
  using Out = LstmResult;
  const auto& attrs = b.attrs<LstmAttrs>();
  if (!has_mps_lstm(attrs, b.has(In::Peephole), b.has(In::Lengths))) {
    return compose_lstm(b);
  }
  const RnnSize size =
      rnn_size(b.input_shape(In::X), b.input_shape(In::Weights));
  NSArray<MPSGraphTensor*>* results =
      [b.graph() LSTMWithSourceTensor:b.input(In::X)
                      recurrentWeight:b.input(In::Weights)
                          inputWeight:nil
                                 bias:nil
                            initState:input_or_nil(b, In::State)
                             initCell:input_or_nil(b, In::Cell)
                                 mask:input_or_nil(b, In::Mask)
                             peephole:input_or_nil(b, In::Peephole)
                           descriptor:descriptor_of(attrs)
                                 name:b.name()];
  T hidden = [results objectAtIndex:0], cells = [results objectAtIndex:1];
  const std::int64_t last = attrs.reverse ? 0 : size.steps - 1;
  b.set(hidden, Out::Hidden);
  b.set(cells, Out::Cells);
  b.set([results objectAtIndex:2], Out::Gates);
  b.set(row_of(b, hidden, size, last), Out::LastHidden);
  b.set(row_of(b, cells, size, last), Out::LastCell);
}

void lower_lstm_steps_gradient(GraphBuilder& b) {
  using In = LstmGradientInput;
  using Out = LstmGradientResult;
  const auto& attrs = b.attrs<LstmAttrs>();
  const bool has_more = b.has(In::CellsGradient) || b.has(In::GatesGradient);
  if (has_more || !kRnnGradientsIgnoreTheSource || !b.has(In::Hidden) ||
      !has_mps_lstm(attrs, b.has(In::Peephole), b.has(In::Lengths))) {
    return compose_lstm_gradient(b);
  }
  const RnnSize size =
      rnn_size(b.input_shape(In::Gates), b.input_shape(In::Weights));
  T state = input_or_zeros(b, In::State, size.state());
  T cell = input_or_zeros(b, In::Cell, size.state());
  NSArray<MPSGraphTensor*>* results = [b.graph()
      LSTMGradientsWithSourceTensor:b.input(In::Gates)
                    recurrentWeight:b.input(In::Weights)
                     sourceGradient:input_or_zeros(b, In::HiddenGradient,
                                                   size.states())
                             zState:b.input(In::Gates)
                      cellOutputFwd:b.input(In::Cells)
                      stateGradient:input_or_nil(b, In::LastHiddenGradient)
                       cellGradient:input_or_nil(b, In::LastCellGradient)
                        inputWeight:nil
                               bias:nil
                          initState:state
                           initCell:cell
                               mask:input_or_nil(b, In::Mask)
                           peephole:input_or_nil(b, In::Peephole)
                         descriptor:descriptor_of(attrs)
                               name:b.name()];
  // One for each of source, weights, [peephole,] state and cell, in this order.
  NSUInteger next = 0;
  T dx = [results objectAtIndex:next++];
  b.set(dx, Out::X);
  b.set(b.reshape([results objectAtIndex:next++], b.input_shape(In::Weights)),
        Out::Weights);
  T dpeephole = b.has(In::Peephole)
                    ? [results objectAtIndex:next++]
                    : peephole_gradient(b, dx,
                                        shifted(b, b.input(In::Cells), cell,
                                                size, attrs.reverse),
                                        size);
  b.set(b.reshape(dpeephole, b.result_shape(Out::Peephole)), Out::Peephole);
  b.set(b.reshape([results objectAtIndex:next++], size.state()), Out::State);
  b.set(b.reshape([results objectAtIndex:next++], size.state()), Out::Cell);
  // Of what each step's product has multiplied, before the mask.
  T product = product_of_steps(b, dx, b.input(In::Weights), size);
  T before = shifted(b, b.input(In::Hidden), state, size, attrs.reverse);
  T dmask = b.sum(b.mul(product, before), size.states(), {0});
  b.set(b.reshape(dmask, size.state()), Out::Mask);
}

}  // namespace traingraph::metal
