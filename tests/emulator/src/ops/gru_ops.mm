// SPDX-License-Identifier: MIT
// The GRU, the single gate and their gradients, without input weights: what
// metal/ calls.
#include "rnn_checks.h"

using namespace emulator;

namespace {

void require_training(const char* op, BOOL is_training) {
  if (!is_training) refuse(op, @"only training is emulated");
}

void require_no_input_weight(const char* op, MPSGraphTensor* weight,
                             MPSGraphTensor* bias) {
  if (weight || bias) refuse(op, @"input weights are not emulated");
}

Gru gru_of(const char* op, MPSGraphGRUDescriptor* descriptor) {
  if (!descriptor) refuse(op, @"the descriptor is nil");
  require_training(op, [descriptor training]);
  return {.is_reverse = [descriptor reverse] != NO,
          .is_reset_first = [descriptor resetGateFirst] != NO,
          .is_reset_after = [descriptor resetAfter] != NO,
          .is_flipped = [descriptor flipZ] != NO,
          .update = rnn_activation([descriptor updateGateActivation]),
          .reset = rnn_activation([descriptor resetGateActivation]),
          .output = rnn_activation([descriptor outputGateActivation])};
}

SingleGate single_gate_of(const char* op,
                          MPSGraphSingleGateRNNDescriptor* descriptor) {
  if (!descriptor) refuse(op, @"the descriptor is nil");
  require_training(op, [descriptor training]);
  return {.is_reverse = [descriptor reverse] != NO,
          .activation = rnn_activation([descriptor activation])};
}

}  // namespace

@implementation MPSGraph (MPSGraphGRUOps)

- EMULATED_GRU {
  const char* op = "GRU";
  require_no_input_weight(op, inputWeight, bias);
  Gru gru = gru_of(op, descriptor);
  NSArray* required = inputs_of(op, {source, recurrentWeight});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 3, both, types[0], types[1]);
  OptionalInputs optional(op, required);
  gru.has_state = optional.add(@"the initial state", initState, size.state);
  gru.has_mask = optional.add(@"the mask", mask, size.state);
  gru.has_bias = optional.add(@"the secondary bias", secondaryBias, size.bias);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  return add_operation(
      self, op, name, optional.inputs(),
      std::vector<Type>{{type, size.states}, {type, size.gates}},
      in_directions(both, gru, emulator::gru, /*weight=*/1,
                    /*peephole=*/-1, /*gives_weight=*/false));
}

- EMULATED_GRU_GRADIENTS {
  const char* op = "GRUGradients";
  require_no_input_weight(op, inputWeight, bias);
  Gru gru = gru_of(op, descriptor);
  const Type source_type = operand(self, op, source, Elements::kFloat);
  NSArray* required =
      inputs_of(op, {recurrentWeight, sourceGradient, zState, outputFwd});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 3, both, source_type, types[0]);
  require_shape(op, @"the source gradient", size.states, types[1].shape);
  require_shape(op, @"the training state", size.gates, types[2].shape);
  require_shape(op, @"the states", size.states, types[3].shape);
  OptionalInputs optional(op, required);
  gru.has_state_gradient =
      optional.add(@"the state gradient", stateGradient, size.state);
  gru.has_state = optional.add(@"the initial state", initState, size.state);
  gru.has_mask = optional.add(@"the mask", mask, size.state);
  gru.has_bias = optional.add(@"the secondary bias", secondaryBias, size.bias);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  std::vector<Type> results{{type, size.gates}, {type, size.weight}};
  if (gru.has_state) results.push_back({type, size.state});
  if (gru.has_bias) results.push_back({type, size.bias});
  return add_operation(
      self, op, name, optional.inputs(), results,
      in_directions(both, gru, emulator::gru_gradients, /*weight=*/0,
                    /*peephole=*/-1, /*gives_weight=*/true));
}

- EMULATED_SINGLE_GATE {
  const char* op = "singleGateRNN";
  require_no_input_weight(op, inputWeight, bias);
  SingleGate single = single_gate_of(op, descriptor);
  NSArray* required = inputs_of(op, {source, recurrentWeight});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 1, both, types[0], types[1]);
  OptionalInputs optional(op, required);
  single.has_state = optional.add(@"the initial state", initState, size.state);
  single.has_mask = optional.add(@"the mask", mask, size.state);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  return add_operation(
      self, op, name, optional.inputs(),
      std::vector<Type>{{type, size.states}, {type, size.gates}},
      in_directions(both, single, emulator::single_gate, /*weight=*/1,
                    /*peephole=*/-1, /*gives_weight=*/false));
}

- EMULATED_SINGLE_GATE_GRADIENTS {
  const char* op = "singleGateRNNGradients";
  require_no_input_weight(op, inputWeight, bias);
  SingleGate single = single_gate_of(op, descriptor);
  const Type source_type = operand(self, op, source, Elements::kFloat);
  NSArray* required = inputs_of(op, {recurrentWeight, sourceGradient, zState});
  const auto types = operands(self, op, required, Elements::kFloat);
  const bool both = [descriptor bidirectional] != NO;
  const RnnSize size(op, 1, both, source_type, types[0]);
  require_shape(op, @"the source gradient", size.states, types[1].shape);
  require_shape(op, @"the training state", size.gates, types[2].shape);
  OptionalInputs optional(op, required);
  single.has_state_gradient =
      optional.add(@"the state gradient", stateGradient, size.state);
  single.has_state = optional.add(@"the initial state", initState, size.state);
  single.has_mask = optional.add(@"the mask", mask, size.state);
  operands(self, op, optional.inputs(), Elements::kFloat);
  const std::uint32_t type = types[0].data_type;
  std::vector<Type> results{{type, size.gates}, {type, size.weight}};
  if (single.has_state) results.push_back({type, size.state});
  return add_operation(
      self, op, name, optional.inputs(), results,
      in_directions(both, single, emulator::single_gate_gradients, /*weight=*/0,
                    /*peephole=*/-1, /*gives_weight=*/true));
}

@end
