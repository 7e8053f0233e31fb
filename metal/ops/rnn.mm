// SPDX-License-Identifier: MIT
// lstm_steps and its gradient by MPSGraph's LSTM; rnn_steps.mm has the rest.
// The source is multiplied by its weights already, so there are no input
// weights and no bias here.
#import "metal/ops/rnn.h"

#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/matmul_product.h"
#import "metal/ops/rnn_call.h"
#include "metal/ops/rnn_choice.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

MPSGraphLSTMDescriptor* descriptor_of(const LstmAttrs& attrs,
                                      const RnnCall& call) {
  MPSGraphLSTMDescriptor* descriptor = [MPSGraphLSTMDescriptor descriptor];
  const auto gates = lstm_gates(attrs);
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
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
  return [b.graph() constantWithScalar:0
                                 shape:ns_shape(shape)
                              dataType:mps_data_type(b.compute_type())];
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
  return b.reshape(matrix_product(b, rows, weights), size.states());
}

T mask_gradient(GraphBuilder& b, T dx, T weights, T before,
                const RnnSize& size) {
  T product = product_of_steps(b, dx, weights, size);
  T sum = b.sum(b.mul(product, before), size.states(), {0});
  return b.reshape(sum, size.state());
}

void lower_lstm_steps(GraphBuilder& b) {
  using In = LstmInput;
  using Out = LstmResult;
  const auto& attrs = b.attrs<LstmAttrs>();
  if (!has_mps_lstm(attrs, b.has(In::Peephole), b.has(In::Lengths))) {
    return compose_lstm(b);
  }
  RnnCall call(b, b.input_shape(In::X), In::Weights, attrs.reverse);
  // Both directions' are (2, 4 H).
  T peephole = call.input(In::Peephole);
  if (peephole && call.has_both()) {
    peephole = b.reshape(peephole, {2, b.input_shape(In::Peephole)[0]});
  }
  NSArray<MPSGraphTensor*>* results =
      [b.graph() LSTMWithSourceTensor:call.input(In::X)
                      recurrentWeight:call.input(In::Weights)
                          inputWeight:nil
                                 bias:nil
                            initState:call.input(In::State)
                             initCell:call.input(In::Cell)
                                 mask:call.input(In::Mask)
                             peephole:peephole
                           descriptor:descriptor_of(attrs, call)
                                 name:b.name()];
  call.for_each_node([&](int direction) {
    const bool is_reverse = b.attrs<LstmAttrs>().reverse;
    T hidden = call.part([results objectAtIndex:0], direction);
    T cells = call.part([results objectAtIndex:1], direction);
    b.set(hidden, Out::Hidden);
    b.set(cells, Out::Cells);
    b.set(call.part([results objectAtIndex:2], direction), Out::Gates);
    b.set(call.last_row(hidden, is_reverse), Out::LastHidden);
    b.set(call.last_row(cells, is_reverse), Out::LastCell);
  });
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
  RnnCall call(b, b.input_shape(In::Gates), In::Weights, attrs.reverse);
  const RnnSize& size = call.size();
  T gates = call.input(In::Gates);
  T state = call.input_or_zeros(In::State, size.state());
  T cell = call.input_or_zeros(In::Cell, size.state());
  NSArray<MPSGraphTensor*>* results = [b.graph()
      LSTMGradientsWithSourceTensor:gates
                    recurrentWeight:call.input(In::Weights)
                     sourceGradient:call.input_or_zeros(In::HiddenGradient,
                                                        size.states())
                             zState:gates
                      cellOutputFwd:call.input(In::Cells)
                      stateGradient:call.input(In::LastHiddenGradient)
                       cellGradient:call.input(In::LastCellGradient)
                        inputWeight:nil
                               bias:nil
                          initState:state
                           initCell:cell
                               mask:call.input(In::Mask)
                           peephole:call.input(In::Peephole)
                         descriptor:descriptor_of(attrs, call)
                               name:b.name()];
  // One for each of source, weights, [peephole,] state and cell, in this order.
  call.for_each_node([&](int direction) {
    const bool is_reverse = b.attrs<LstmAttrs>().reverse;
    T own_cell = call.part(cell, direction);
    NSUInteger next = 2;
    const auto part = [&](NSUInteger i) {
      return call.part([results objectAtIndex:i], direction);
    };
    T dx = part(0);
    b.set(dx, Out::X);
    b.set(call.part_of_weights([results objectAtIndex:1], direction,
                               b.input_shape(In::Weights)),
          Out::Weights);
    T dpeephole = b.has(In::Peephole)
                      ? call.part(b.reshape([results objectAtIndex:next++],
                                            call.peephole_shape()),
                                  direction)
                      : peephole_gradient(b, dx,
                                          shifted(b, b.input(In::Cells),
                                                  own_cell, size, is_reverse),
                                          size);
    b.set(b.reshape(dpeephole, b.result_shape(Out::Peephole)), Out::Peephole);
    b.set(b.reshape(part(next++), size.state()), Out::State);
    b.set(b.reshape(part(next++), size.state()), Out::Cell);
    b.set(mask_gradient(b, dx, b.input(In::Weights),
                        shifted(b, b.input(In::Hidden),
                                call.part(state, direction), size, is_reverse),
                        size),
          Out::Mask);
  });
}

}  // namespace traingraph::metal
