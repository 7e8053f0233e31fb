// SPDX-License-Identifier: MIT
#include "ops/rnn_gates.h"

#include "ops/elementwise_parameters.h"

namespace traingraph {
namespace {

/// Calls f(type, a, b) for each activation, in the order of gates.
template <class Attrs, class F>
void for_each_activation(Attrs& attrs, F&& f) {
  if (auto* s = std::get_if<LstmAttrs>(&attrs)) {
    f(s->input_gate_activation, s->input_gate_a, s->input_gate_b);
    f(s->forget_gate_activation, s->forget_gate_a, s->forget_gate_b);
    f(s->cell_gate_activation, s->cell_gate_a, s->cell_gate_b);
    f(s->output_gate_activation, s->output_gate_a, s->output_gate_b);
    f(s->activation, s->activation_a, s->activation_b);
  } else if (auto* s = std::get_if<GruAttrs>(&attrs)) {
    f(s->update_gate_activation, s->update_gate_a, s->update_gate_b);
    f(s->reset_gate_activation, s->reset_gate_a, s->reset_gate_b);
    f(s->output_gate_activation, s->output_gate_a, s->output_gate_b);
  } else if (auto* s = std::get_if<SingleGateAttrs>(&attrs)) {
    f(s->activation, s->activation_a, s->activation_b);
  }
}

/// f(the member `reverse`).
template <class Attrs, class F>
void visit_reverse(Attrs& attrs, F&& f) {
  if (auto* lstm = std::get_if<LstmAttrs>(&attrs)) f(lstm->reverse);
  if (auto* gru = std::get_if<GruAttrs>(&attrs)) f(gru->reverse);
  if (auto* single = std::get_if<SingleGateAttrs>(&attrs)) f(single->reverse);
}

}  // namespace

void fill_gate_defaults(Attributes& attrs) {
  for_each_activation(attrs, [](ActivationType type, float& a, float& b) {
    const ActivationAttrs filled = with_defaults({type, a, b});
    a = filled.a;
    b = filled.b;
  });
}

std::vector<ActivationAttrs> gate_activations(const Attributes& attrs) {
  std::vector<ActivationAttrs> all;
  for_each_activation(attrs, [&](ActivationType type, float a, float b) {
    all.push_back(with_defaults({type, a, b}));
  });
  return all;
}

std::vector<int> gate_blocks(const Attributes& attrs) {
  if (const auto* lstm = std::get_if<LstmAttrs>(&attrs)) {
    if (lstm->forget_gate_last) return {0, 2, 1, 3};
    return {0, 1, 2, 3};
  }
  if (const auto* gru = std::get_if<GruAttrs>(&attrs)) {
    if (gru->reset_gate_first) return {1, 0, 2};
    return {0, 1, 2};
  }
  return {0};
}

bool is_reverse(const Attributes& attrs) {
  bool result = false;
  visit_reverse(attrs, [&](bool reverse) { result = reverse; });
  return result;
}

Attributes in_direction(Attributes attrs, bool is_reverse) {
  visit_reverse(attrs, [&](bool& reverse) { reverse = is_reverse; });
  return attrs;
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
