// SPDX-License-Identifier: MIT
// gru_steps and gru_steps_gradient: one layer and direction over a whole
// sequence. The input comes as (steps, samples, 3 * hidden), multiplied by its
// weights and with the bias added.
//
// With h' of the step before (or initial), k = h' * mask and b of the secondary
// bias:
//   z = f_z(x_z[t] + k R_z^T)               the update gate
//   r = f_r(x_r[t] + k R_r^T)               the reset gate
//   u = (k * r) R_o^T                       or, with reset_after,
//   u = r * (k R_o^T + b)
//   o = f_o(x_o[t] + u)                     the candidate
//   h = z h' + (1 - z) o                    or, with flip_z,
//   h = (1 - z) h' + z o
// Lengths are as those of lstm_steps.
#include "ops/registry.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_rules.h"

namespace traingraph {
namespace {

enum Input {
  kX,
  kRecurrentWeights,
  kInitialState,
  kMask,
  kSecondaryBias,
  kLengths
};
enum Result { kHidden, kGates, kLastHidden };

enum GradientInput {
  kOwnGates,
  kOwnHidden,
  kOwnRecurrentWeights,
  kOwnInitialState,
  kOwnMask,
  kOwnSecondaryBias,
  kOwnLengths,
  kHiddenGradient,
  kGatesGradient,
  kLastHiddenGradient
};

void require_attributes(const ShapeContext& ctx, int secondary_bias) {
  const auto& attrs = ctx.attrs<GruAttrs>();
  rnn::require_activations(ctx, gru_gates(attrs));
  ctx.require_attribute(
      attrs.reset_after || !ctx.has(secondary_bias),
      "the secondary bias is part of what the reset gate multiplies",
      "reset_after", "the reset gate before the product",
      "Set reset_after, or add it to the bias of the output gate.");
}

void gru_shape(ShapeContext& ctx) {
  require_attributes(ctx, kSecondaryBias);
  const rnn::Sizes sizes =
      rnn::require_sizes(ctx, kX, kRecurrentWeights, kNumGruGates);
  rnn::require_if_present(ctx, kInitialState, sizes.state(), kX);
  rnn::require_if_present(ctx, kMask, sizes.state(), kX);
  rnn::require_if_present(ctx, kSecondaryBias, {sizes.hidden}, kX);
  rnn::require_if_present(ctx, kLengths, {sizes.samples}, kX);
  const DataType type = ctx.data_type(kX);
  ctx.add_result(sizes.states(), type);
  ctx.add_result(ctx.shape(kX), type);
  ctx.add_result(sizes.state(), type);
}

void gru_gradient_shape(ShapeContext& ctx) {
  require_attributes(ctx, kOwnSecondaryBias);
  const rnn::Sizes sizes =
      rnn::require_sizes(ctx, kOwnGates, kOwnRecurrentWeights, kNumGruGates);
  const auto require = [&](int input, const Shape& shape) {
    rnn::require_if_present(ctx, input, shape, kOwnGates);
  };
  require(kOwnHidden, sizes.states());
  require(kHiddenGradient, sizes.states());
  require(kGatesGradient, ctx.shape(kOwnGates));
  for (int i : {kOwnInitialState, kOwnMask, kLastHiddenGradient}) {
    require(i, sizes.state());
  }
  require(kOwnSecondaryBias, {sizes.hidden});
  require(kOwnLengths, {sizes.samples});
  const DataType type = ctx.data_type(kOwnGates);
  ctx.add_result(ctx.shape(kOwnGates), type);
  ctx.add_result(ctx.shape(kOwnRecurrentWeights),
                 ctx.data_type(kOwnRecurrentWeights));
  ctx.add_result(sizes.state(), type);
  ctx.add_result(sizes.state(), type);
  ctx.add_result({sizes.hidden}, type);
}

void gru_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kRecurrentWeights);
  for (int r : {kHidden, kGates}) ctx.set(r, joined);
  ctx.set(kLastHidden, rnn::on_axis(joined, 0));
}

void gru_gradient_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kOwnRecurrentWeights);
  ctx.set(0, joined);
  for (int r : {2, 3}) ctx.set(r, rnn::on_axis(joined, 0));
}

void gru_rule(GradContext& ctx) {
  const auto input = [&](int i) { return rnn::input_of(ctx, i); };
  const auto results = ctx.program().append(
      OpKind::GruStepsGradient, ctx.attrs<GruAttrs>(),
      {ctx.result(kGates), ctx.result(kHidden), input(kRecurrentWeights),
       input(kInitialState), input(kMask), input(kSecondaryBias),
       input(kLengths), ctx.result_gradient(kHidden),
       ctx.result_gradient(kGates), ctx.result_gradient(kLastHidden)});
  ctx.set(kX, results[0]);
  ctx.set(kRecurrentWeights, results[1]);
  ctx.set(kInitialState, results[2]);
  ctx.set(kMask, results[3]);
  ctx.set(kSecondaryBias, results[4]);
}

}  // namespace

OpDef define_gru_steps() {
  return {.inputs = {{"x"},
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("mask"),
                     rnn::optional("secondary_bias"),
                     rnn::lengths()},
          .results = {"hidden", "gates", "last_hidden"},
          .shape_rule = gru_shape,
          .batch_rule = gru_batch,
          .gradient_rule = gru_rule,
          .mixed_form = MixedForm::Narrows,
          .fill_defaults = fill_gate_defaults};
}

// Gradients of inputs that are absent are those of zeros, and of ones for the
// mask; that of the secondary bias is zero unless `reset_after`.
OpDef define_gru_steps_gradient() {
  return {.inputs = {{"gates"},
                     {"hidden"},
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("mask"),
                     rnn::optional("secondary_bias"),
                     rnn::lengths(),
                     rnn::optional("hidden_gradient"),
                     rnn::optional("gates_gradient"),
                     rnn::optional("last_hidden_gradient")},
          .results = {"dx", "drecurrent_weights", "dinitial_state", "dmask",
                      "dsecondary_bias"},
          .shape_rule = gru_gradient_shape,
          .batch_rule = gru_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .fill_defaults = fill_gate_defaults};
}

}  // namespace traingraph
