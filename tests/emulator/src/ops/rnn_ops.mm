// SPDX-License-Identifier: MIT
// The LSTM and its gradients, without input weights: what metal/ calls.
#include "../arithmetic/rnn.h"

#include "rnn_checks.h"

using namespace emulator;

namespace {

Lstm lstm_of(const char* op, MPSGraphLSTMDescriptor* descriptor) {
  if (!descriptor) refuse(op, @"the descriptor is nil");
  // It is not documented which results there are without one of these.
  if (![descriptor training] || ![descriptor produceCell]) {
    refuse(op, @"only training with cells is emulated");
  }
  return {.is_reverse = [descriptor reverse] != NO,
          .is_forget_last = [descriptor forgetGateLast] != NO,
          .activations = {rnn_activation([descriptor inputGateActivation]),
                          rnn_activation([descriptor forgetGateActivation]),
                          rnn_activation([descriptor cellGateActivation]),
                          rnn_activation([descriptor outputGateActivation]),
                          rnn_activation([descriptor activation])}};
}

}  // namespace

@implementation MPSGraph (MPSGraphRNNOps)

- EMULATED_LSTM {
  const char* op = "LSTM";
  if (inputWeight || bias) refuse(op, @"input weights are not emulated");
  Lstm lstm = lstm_of(op, descriptor);
  NSArray* required = inputs_of(op, {source, recurrentWeight});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 4, both, types[0], types[1]);
  OptionalInputs optional(op, required);
  lstm.has_state = optional.add(@"the initial state", initState, size.state);
  lstm.has_cell = optional.add(@"the initial cell", initCell, size.state);
  lstm.has_mask = optional.add(@"the mask", mask, size.state);
  lstm.has_peephole = optional.add(@"the peephole", peephole, size.peephole);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  return add_operation(
      self, op, name, optional.inputs(),
      std::vector<Type>{
          {type, size.states}, {type, size.states}, {type, size.gates}},
      in_directions(both, lstm, emulator::lstm, /*weight=*/1,
                    lstm.has_peephole ? optional.last() : -1,
                    /*gives_weight=*/false));
}

- EMULATED_LSTM_GRADIENTS {
  const char* op = "LSTMGradients";
  if (inputWeight || bias) refuse(op, @"input weights are not emulated");
  Lstm lstm = lstm_of(op, descriptor);
  const Type source_type = operand(self, op, source, Elements::kFloat);
  NSArray* required =
      inputs_of(op, {recurrentWeight, sourceGradient, zState, cellOutputFwd});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 4, both, source_type, types[0]);
  require_shape(op, @"the source gradient", size.states, types[1].shape);
  require_shape(op, @"the training state", size.gates, types[2].shape);
  require_shape(op, @"the cells", size.states, types[3].shape);
  OptionalInputs optional(op, required);
  lstm.has_state_gradient =
      optional.add(@"the state gradient", stateGradient, size.state);
  lstm.has_cell_gradient =
      optional.add(@"the cell gradient", cellGradient, size.state);
  lstm.has_state = optional.add(@"the initial state", initState, size.state);
  lstm.has_cell = optional.add(@"the initial cell", initCell, size.state);
  lstm.has_mask = optional.add(@"the mask", mask, size.state);
  lstm.has_peephole =
      optional.add(@"the peephole", peephole, size.peephole_gradient);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  std::vector<Type> results{{type, size.gates}, {type, size.weight}};
  if (lstm.has_peephole) results.push_back({type, size.peephole_gradient});
  if (lstm.has_state) results.push_back({type, size.state});
  if (lstm.has_cell) results.push_back({type, size.state});
  return add_operation(
      self, op, name, optional.inputs(), results,
      in_directions(both, lstm, emulator::lstm_gradients,
                    /*weight=*/0, lstm.has_peephole ? optional.last() : -1,
                    /*gives_weight=*/true));
}

@end
