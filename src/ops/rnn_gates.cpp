// SPDX-License-Identifier: MIT
#include "ops/rnn_gates.h"

#include "ops/elementwise_parameters.h"

namespace traingraph {
namespace {

/// Where the struct of an op has an activation.
template <class Struct>
struct Place {
  ActivationType Struct::* type;
  float Struct::* a;
  float Struct::* b;

  ActivationAttrs of(const Struct& attrs) const {
    return with_defaults({attrs.*type, attrs.*a, attrs.*b});
  }
};

#define TRAINGRAPH_PLACE(Struct, type, parameters)                  \
  Place<Struct> {                                                   \
    &Struct::type, &Struct::parameters##_a, &Struct::parameters##_b \
  }
// By LstmGate, and last that of the cell.
constexpr std::array kLstmPlaces{
    TRAINGRAPH_PLACE(LstmAttrs, input_gate_activation, input_gate),
    TRAINGRAPH_PLACE(LstmAttrs, forget_gate_activation, forget_gate),
    TRAINGRAPH_PLACE(LstmAttrs, cell_gate_activation, cell_gate),
    TRAINGRAPH_PLACE(LstmAttrs, output_gate_activation, output_gate),
    TRAINGRAPH_PLACE(LstmAttrs, activation, activation)};
// By GruGate.
constexpr std::array kGruPlaces{
    TRAINGRAPH_PLACE(GruAttrs, update_gate_activation, update_gate),
    TRAINGRAPH_PLACE(GruAttrs, reset_gate_activation, reset_gate),
    TRAINGRAPH_PLACE(GruAttrs, output_gate_activation, output_gate)};
constexpr std::array kSingleGatePlaces{
    TRAINGRAPH_PLACE(SingleGateAttrs, activation, activation)};
#undef TRAINGRAPH_PLACE

template <class Struct, std::size_t N>
void fill(Struct& attrs, const std::array<Place<Struct>, N>& places) {
  for (const Place<Struct>& place : places) {
    const ActivationAttrs filled = place.of(attrs);
    attrs.*place.a = filled.a;
    attrs.*place.b = filled.b;
  }
}

template <std::size_t N, class Struct, std::size_t M>
std::array<ActivationAttrs, N> first_of(
    const Struct& attrs, const std::array<Place<Struct>, M>& places) {
  std::array<ActivationAttrs, N> result;
  for (std::size_t i = 0; i < N; ++i) result[i] = places[i].of(attrs);
  return result;
}

}  // namespace

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

void fill_gate_defaults(Attributes& any) {
  if (auto* lstm = std::get_if<LstmAttrs>(&any)) fill(*lstm, kLstmPlaces);
  if (auto* gru = std::get_if<GruAttrs>(&any)) fill(*gru, kGruPlaces);
  if (auto* single = std::get_if<SingleGateAttrs>(&any)) {
    fill(*single, kSingleGatePlaces);
  }
}

std::array<ActivationAttrs, kNumLstmGates> lstm_gates(const LstmAttrs& attrs) {
  return first_of<kNumLstmGates>(attrs, kLstmPlaces);
}

ActivationAttrs lstm_activation(const LstmAttrs& attrs) {
  return kLstmPlaces.back().of(attrs);
}

std::array<int, kNumLstmGates> lstm_blocks(const LstmAttrs& attrs) {
  if (attrs.forget_gate_last) return {0, 2, 1, 3};
  return {0, 1, 2, 3};
}

std::array<ActivationAttrs, kNumGruGates> gru_gates(const GruAttrs& attrs) {
  return first_of<kNumGruGates>(attrs, kGruPlaces);
}

std::array<int, kNumGruGates> gru_blocks(const GruAttrs& attrs) {
  if (attrs.reset_gate_first) return {1, 0, 2};
  return {0, 1, 2};
}

ActivationAttrs single_gate_activation(const SingleGateAttrs& attrs) {
  return kSingleGatePlaces.front().of(attrs);
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
