// SPDX-License-Identifier: MIT
// lstm and lstm_gradient: one layer and direction over a whole sequence. The
// input comes as (steps, samples, 4 * hidden), multiplied by its weights and
// with the bias added: for all steps that is one product, of a node before.
//
// With k = h' * mask, where h' and c' are of the step before (or initial):
//   u = x[t] + k R^T + peephole * c'       for each of the four gates
//   i, f, z, o = their activations of u
//   c = f c' + i z
//   h = o activation(c)
// The output gate's peephole reads c instead when the attributes say so.
// Samples take part in the first `lengths` steps; there the reverse direction
// begins. Further steps give zeros and leave h and c alone.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/elementwise_parameters.h"
#include "ops/registry.h"
#include "ops/rnn_gates.h"
#include "ops/shape_rules.h"

namespace traingraph {

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

namespace {

enum Input {
  kX,
  kRecurrentWeights,
  kInitialState,
  kInitialCell,
  kPeephole,
  kMask,
  kLengths
};
enum Result { kHidden, kCells, kGates, kLastHidden, kLastCell };

enum GradientInput {
  kOwnGates,
  kOwnCells,
  kOwnHidden,
  kOwnRecurrentWeights,
  kOwnInitialState,
  kOwnInitialCell,
  kOwnPeephole,
  kOwnMask,
  kOwnLengths,
  kHiddenGradient,
  kCellsGradient,
  kGatesGradient,
  kLastHiddenGradient,
  kLastCellGradient
};

void require_activations(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<LstmAttrs>();
  std::array<ActivationAttrs, kNumLstmGates + 1> all;
  std::ranges::copy(lstm_gates(attrs), all.begin());
  all.back() = lstm_activation(attrs);
  for (const ActivationAttrs& activation : all) {
    ctx.require_attribute(to_string(activation.type) != "?",
                          "activation is unknown", "a case of ActivationType",
                          std::to_string(static_cast<int>(activation.type)));
    ctx.require_attribute(
        std::isfinite(activation.a) && std::isfinite(activation.b),
        "parameters of an activation are out of range", "finite numbers",
        std::string(to_string(activation.type)) + " with a " +
            format_value(activation.a) + ", b " + format_value(activation.b));
    // As LstmAttrs and ActivationAttrs have them by default.
    const auto is_unset = [](float value) { return value == 0 || value == 1; };
    ctx.require_attribute(
        (uses_a(activation.type) || is_unset(activation.a)) &&
            (uses_b(activation.type) || is_unset(activation.b)),
        "an activation does not use its parameters", "1",
        std::string(to_string(activation.type)) + " with a " +
            format_value(activation.a) + ", b " + format_value(activation.b));
  }
}

/// (4 H, H) -> H
std::int64_t hidden_size(const ShapeContext& ctx, int weights) {
  ctx.require_rank(weights, 2);
  const Shape& shape = ctx.shape(weights);
  ctx.require_shape(weights, {kNumLstmGates * shape[1], shape[1]});
  return shape[1];
}

void require_if_present(const ShapeContext& ctx, int input, const Shape& shape,
                        int like) {
  if (!ctx.has(input)) return;
  ctx.require_shape(input, shape);
  if (is_float(ctx.data_type(input))) ctx.require_same_data_type(input, like);
}

void lstm_shape(ShapeContext& ctx) {
  require_activations(ctx);
  const std::int64_t hidden = hidden_size(ctx, kRecurrentWeights);
  ctx.require_rank(kX, 3);
  const std::int64_t steps = ctx.shape(kX)[0], samples = ctx.shape(kX)[1];
  ctx.require_shape(kX, {steps, samples, kNumLstmGates * hidden});
  const Shape state{samples, hidden}, states{steps, samples, hidden};
  require_if_present(ctx, kInitialState, state, kX);
  require_if_present(ctx, kInitialCell, state, kX);
  require_if_present(ctx, kPeephole, {kNumLstmGates * hidden}, kX);
  require_if_present(ctx, kMask, state, kX);
  require_if_present(ctx, kLengths, {samples}, kX);
  const DataType type = ctx.data_type(kX);
  ctx.add_result(states, type);
  ctx.add_result(states, type);
  ctx.add_result(ctx.shape(kX), type);
  ctx.add_result(state, type);
  ctx.add_result(state, type);
}

void lstm_gradient_shape(ShapeContext& ctx) {
  require_activations(ctx);
  const std::int64_t hidden = hidden_size(ctx, kOwnRecurrentWeights);
  ctx.require_rank(kOwnGates, 3);
  const Shape gates = ctx.shape(kOwnGates);
  const std::int64_t steps = gates[0], samples = gates[1];
  ctx.require_shape(kOwnGates, {steps, samples, kNumLstmGates * hidden});
  const Shape state{samples, hidden}, states{steps, samples, hidden};
  const Shape peephole{kNumLstmGates * hidden};
  const auto require = [&](int input, const Shape& shape) {
    require_if_present(ctx, input, shape, kOwnGates);
  };
  for (int i : {kOwnCells, kOwnHidden, kHiddenGradient, kCellsGradient}) {
    require(i, states);
  }
  for (int i : {kOwnInitialState, kOwnInitialCell, kOwnMask,
                kLastHiddenGradient, kLastCellGradient}) {
    require(i, state);
  }
  require(kOwnPeephole, peephole);
  require(kOwnLengths, {samples});
  require(kGatesGradient, gates);
  const DataType type = ctx.data_type(kOwnGates);
  ctx.add_result(gates, type);
  ctx.add_result(ctx.shape(kOwnRecurrentWeights),
                 ctx.data_type(kOwnRecurrentWeights));
  ctx.add_result(peephole, type);
  for (int i = 0; i < 3; ++i) ctx.add_result(state, type);
}

/// Samples are on axis 1 of sequences and axis 0 of states. As axes of a result
/// (steps, samples, any); others are those of the weights.
BatchAxis join_samples(BatchContext& ctx, int weights, int peephole,
                       int lengths) {
  std::vector<batch::Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input)) continue;
    Shape axes{0, 1, 2};
    if (input == weights) {
      axes = {3, 4};
    } else if (input == peephole) {
      axes = {3};
    } else if (input == lengths) {
      axes = {1};
    } else if (ctx.shape(input).rank() == 2) {
      axes = {1, 2};
    }
    operands.push_back({.input = input, .axes = axes});
  }
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis != 1) batch::refuse_axis(ctx, joined.axis);
  return joined;
}

BatchAxis on_axis(BatchAxis batch, int axis) {
  if (batch) batch.axis = axis;
  return batch;
}

void lstm_batch(BatchContext& ctx) {
  const BatchAxis joined =
      join_samples(ctx, kRecurrentWeights, kPeephole, kLengths);
  for (int r : {kHidden, kCells, kGates}) ctx.set(r, joined);
  for (int r : {kLastHidden, kLastCell}) ctx.set(r, on_axis(joined, 0));
}

void lstm_gradient_batch(BatchContext& ctx) {
  const BatchAxis joined =
      join_samples(ctx, kOwnRecurrentWeights, kOwnPeephole, kOwnLengths);
  ctx.set(0, joined);
  for (int r : {3, 4, 5}) ctx.set(r, on_axis(joined, 0));
}

void lstm_rule(GradContext& ctx) {
  const auto input = [&](int i) {
    return ctx.has(i) ? ctx.input(i) : kNoValue;
  };
  const auto results = ctx.program().append(
      OpKind::LstmGradient, ctx.attrs<LstmAttrs>(),
      {ctx.result(kGates), ctx.result(kCells), ctx.result(kHidden),
       input(kRecurrentWeights), input(kInitialState), input(kInitialCell),
       input(kPeephole), input(kMask), input(kLengths),
       ctx.result_gradient(kHidden), ctx.result_gradient(kCells),
       ctx.result_gradient(kGates), ctx.result_gradient(kLastHidden),
       ctx.result_gradient(kLastCell)});
  ctx.set(kX, results[0]);
  ctx.set(kRecurrentWeights, results[1]);
  ctx.set(kPeephole, results[2]);
  ctx.set(kInitialState, results[3]);
  ctx.set(kInitialCell, results[4]);
  ctx.set(kMask, results[5]);
}

InputDef optional(const char* name) {
  return {.name = name, .is_optional = true};
}

InputDef lengths() {
  return {.name = "lengths", .types = kInt32, .is_optional = true};
}

}  // namespace

OpDef define_lstm() {
  return {.inputs = {{"x"},
                     {"recurrent_weights"},
                     optional("initial_state"),
                     optional("initial_cell"),
                     optional("peephole"),
                     optional("mask"),
                     lengths()},
          .results = {"hidden", "cells", "gates", "last_hidden", "last_cell"},
          .shape_rule = lstm_shape,
          .batch_rule = lstm_batch,
          .gradient_rule = lstm_rule};
}

// Gradients of inputs that are absent are those of zeros, and of ones for the
// mask. Without `hidden` it is computed again from gates and cells.
OpDef define_lstm_gradient() {
  return {.inputs = {{"gates"},
                     {"cells"},
                     optional("hidden"),
                     {"recurrent_weights"},
                     optional("initial_state"),
                     optional("initial_cell"),
                     optional("peephole"),
                     optional("mask"),
                     lengths(),
                     optional("hidden_gradient"),
                     optional("cells_gradient"),
                     optional("gates_gradient"),
                     optional("last_hidden_gradient"),
                     optional("last_cell_gradient")},
          .results = {"dx", "drecurrent_weights", "dpeephole", "dinitial_state",
                      "dinitial_cell", "dmask"},
          .shape_rule = lstm_gradient_shape,
          .batch_rule = lstm_gradient_batch,
          .no_gradient = NoGradient::Missing};
}

}  // namespace traingraph
