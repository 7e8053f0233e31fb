// SPDX-License-Identifier: MIT
#include "ops/rnn_gates.h"

namespace traingraph {

bool is_recurrent(OpKind kind) {
  switch (kind) {
    case OpKind::GruSteps:
    case OpKind::GruStepsGradient:
    case OpKind::LstmSteps:
    case OpKind::LstmStepsGradient:
    case OpKind::SingleGateSteps:
    case OpKind::SingleGateStepsGradient:
      return true;
    default:
      return false;
  }
}

std::array<ActivationAttrs, kNumLstmGates> lstm_gates(const LstmAttrs& attrs) {
  return {
      {{attrs.input_gate_activation, attrs.input_gate_a, attrs.input_gate_b},
       {attrs.forget_gate_activation, attrs.forget_gate_a, attrs.forget_gate_b},
       {attrs.cell_gate_activation, attrs.cell_gate_a, attrs.cell_gate_b},
       {attrs.output_gate_activation, attrs.output_gate_a,
        attrs.output_gate_b}}};
}

ActivationAttrs lstm_activation(const LstmAttrs& attrs) {
  return {attrs.activation, attrs.activation_a, attrs.activation_b};
}

std::array<int, kNumLstmGates> lstm_blocks(const LstmAttrs& attrs) {
  if (attrs.forget_gate_last) return {0, 2, 1, 3};
  return {0, 1, 2, 3};
}

std::array<ActivationAttrs, kNumGruGates> gru_gates(const GruAttrs& attrs) {
  return {
      {{attrs.update_gate_activation, attrs.update_gate_a, attrs.update_gate_b},
       {attrs.reset_gate_activation, attrs.reset_gate_a, attrs.reset_gate_b},
       {attrs.output_gate_activation, attrs.output_gate_a,
        attrs.output_gate_b}}};
}

std::array<int, kNumGruGates> gru_blocks(const GruAttrs& attrs) {
  if (attrs.reset_gate_first) return {1, 0, 2};
  return {0, 1, 2};
}

ActivationAttrs single_gate_activation(const SingleGateAttrs& attrs) {
  return {attrs.activation, attrs.activation_a, attrs.activation_b};
}

bool has_slope_of_result(const ActivationAttrs& attrs) {
  switch (attrs.type) {
    case ActivationType::None:
    case ActivationType::Linear:
    case ActivationType::Sigmoid:
      return true;
    case ActivationType::HardSigmoid:
    case ActivationType::Tanh:
      return attrs.a != 0;
    case ActivationType::ReLU:
      return attrs.a >= 0;  // f(x) > 0 just when x > 0
    default:
      return false;
  }
}

}  // namespace traingraph
