// SPDX-License-Identifier: MIT
// lstm_steps and lstm_steps_gradient: one layer and direction over a whole
// sequence. The input comes as (steps, samples, 4 * hidden), multiplied by its
// weights and with the bias added: for all steps that is one product, of a node
// before.
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
#include <array>

#include "ops/registry.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_rules.h"

namespace traingraph {

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

void require_attributes(const ShapeContext& ctx, int peephole) {
  const auto& attrs = ctx.attrs<LstmAttrs>();
  ctx.require_attribute(
      !attrs.output_peephole_reads_new_cell || ctx.has(peephole),
      "output_peephole_reads_new_cell is about a peephole",
      "false, or an input \"peephole\"", "true");
  std::array<ActivationAttrs, kNumLstmGates + 1> all;
  std::ranges::copy(lstm_gates(attrs), all.begin());
  all.back() = lstm_activation(attrs);
  rnn::require_activations(ctx, all);
}

void lstm_shape(ShapeContext& ctx) {
  require_attributes(ctx, kPeephole);
  const rnn::Sizes sizes =
      rnn::require_sizes(ctx, kX, kRecurrentWeights, kNumLstmGates);
  const Shape state = sizes.state(), states = sizes.states();
  for (int i : {kInitialState, kInitialCell, kMask}) {
    rnn::require_if_present(ctx, i, state, kX);
  }
  rnn::require_if_present(ctx, kPeephole, {kNumLstmGates * sizes.hidden}, kX);
  rnn::require_if_present(ctx, kLengths, {sizes.samples}, kX);
  const DataType type = ctx.data_type(kX);
  ctx.add_result(states, type);
  ctx.add_result(states, type);
  ctx.add_result(ctx.shape(kX), type);
  ctx.add_result(state, type);
  ctx.add_result(state, type);
}

void lstm_gradient_shape(ShapeContext& ctx) {
  require_attributes(ctx, kOwnPeephole);
  const rnn::Sizes sizes =
      rnn::require_sizes(ctx, kOwnGates, kOwnRecurrentWeights, kNumLstmGates);
  const Shape gates = ctx.shape(kOwnGates);
  const Shape state = sizes.state(), states = sizes.states();
  const Shape peephole{kNumLstmGates * sizes.hidden};
  const auto require = [&](int input, const Shape& shape) {
    rnn::require_if_present(ctx, input, shape, kOwnGates);
  };
  for (int i : {kOwnCells, kOwnHidden, kHiddenGradient, kCellsGradient}) {
    require(i, states);
  }
  for (int i : {kOwnInitialState, kOwnInitialCell, kOwnMask,
                kLastHiddenGradient, kLastCellGradient}) {
    require(i, state);
  }
  require(kOwnPeephole, peephole);
  require(kOwnLengths, {sizes.samples});
  require(kGatesGradient, gates);
  const DataType type = ctx.data_type(kOwnGates);
  ctx.add_result(gates, type);
  ctx.add_result(ctx.shape(kOwnRecurrentWeights),
                 ctx.data_type(kOwnRecurrentWeights));
  ctx.add_result(peephole, type);
  for (int i = 0; i < 3; ++i) ctx.add_result(state, type);
}

void lstm_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kRecurrentWeights);
  for (int r : {kHidden, kCells, kGates}) ctx.set(r, joined);
  for (int r : {kLastHidden, kLastCell}) ctx.set(r, rnn::on_axis(joined, 0));
}

void lstm_gradient_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kOwnRecurrentWeights);
  ctx.set(0, joined);
  for (int r : {3, 4, 5}) ctx.set(r, rnn::on_axis(joined, 0));
}

void lstm_rule(GradContext& ctx) {
  const auto input = [&](int i) { return rnn::input_of(ctx, i); };
  const auto results = ctx.program().append(
      OpKind::LstmStepsGradient, ctx.attrs<LstmAttrs>(),
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

}  // namespace

OpDef define_lstm_steps() {
  return {.inputs = {{"x"},
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("initial_cell"),
                     rnn::optional("peephole"),
                     rnn::optional("mask"),
                     rnn::lengths()},
          .results = {"hidden", "cells", "gates", "last_hidden", "last_cell"},
          .shape_rule = lstm_shape,
          .batch_rule = lstm_batch,
          .gradient_rule = lstm_rule,
          .mixed_form = MixedForm::Narrows,
          .fill_defaults = fill_gate_defaults};
}

// Gradients of inputs that are absent are those of zeros, and of ones for the
// mask. Without `hidden` it is computed again from gates and cells.
OpDef define_lstm_steps_gradient() {
  return {.inputs = {{"gates"},
                     {"cells"},
                     rnn::optional("hidden"),
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("initial_cell"),
                     rnn::optional("peephole"),
                     rnn::optional("mask"),
                     rnn::lengths(),
                     rnn::optional("hidden_gradient"),
                     rnn::optional("cells_gradient"),
                     rnn::optional("gates_gradient"),
                     rnn::optional("last_hidden_gradient"),
                     rnn::optional("last_cell_gradient")},
          .results = {"dx", "drecurrent_weights", "dpeephole", "dinitial_state",
                      "dinitial_cell", "dmask"},
          .shape_rule = lstm_gradient_shape,
          .batch_rule = lstm_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .fill_defaults = fill_gate_defaults};
}

}  // namespace traingraph
