// SPDX-License-Identifier: MIT
// single_gate_steps and single_gate_steps_gradient: one layer and direction of
// a plain recurrent network over a whole sequence. The input comes as (steps,
// samples, hidden), multiplied by its weights and with the bias added.
//
// With h' of the step before (or initial):
//   u = x[t] + (h' * mask) R^T
//   h = f(u)
// What is saved is always u. Lengths are as those of lstm_steps.
#include <array>

#include "ops/registry.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_rules.h"

namespace traingraph {
namespace {

enum Input { kX, kRecurrentWeights, kInitialState, kMask, kLengths };
enum Result { kHidden, kGates, kLastHidden };

enum GradientInput {
  kOwnGates,
  kOwnRecurrentWeights,
  kOwnInitialState,
  kOwnMask,
  kOwnLengths,
  kHiddenGradient,
  kGatesGradient,
  kLastHiddenGradient
};

void require_activation(const ShapeContext& ctx) {
  const std::array all{single_gate_activation(ctx.attrs<SingleGateAttrs>())};
  rnn::require_activations(ctx, all);
}

void single_gate_shape(ShapeContext& ctx) {
  require_activation(ctx);
  const rnn::Sizes sizes = rnn::require_sizes(ctx, kX, kRecurrentWeights, 1);
  rnn::require_if_present(ctx, kInitialState, sizes.state(), kX);
  rnn::require_if_present(ctx, kMask, sizes.state(), kX);
  rnn::require_if_present(ctx, kLengths, {sizes.samples}, kX);
  const DataType type = ctx.data_type(kX);
  ctx.add_result(sizes.states(), type);
  ctx.add_result(sizes.states(), type);
  ctx.add_result(sizes.state(), type);
}

void single_gate_gradient_shape(ShapeContext& ctx) {
  require_activation(ctx);
  const rnn::Sizes sizes =
      rnn::require_sizes(ctx, kOwnGates, kOwnRecurrentWeights, 1);
  const auto require = [&](int input, const Shape& shape) {
    rnn::require_if_present(ctx, input, shape, kOwnGates);
  };
  for (int i : {kHiddenGradient, kGatesGradient}) require(i, sizes.states());
  for (int i : {kOwnInitialState, kOwnMask, kLastHiddenGradient}) {
    require(i, sizes.state());
  }
  require(kOwnLengths, {sizes.samples});
  const DataType type = ctx.data_type(kOwnGates);
  ctx.add_result(sizes.states(), type);
  ctx.add_result(ctx.shape(kOwnRecurrentWeights),
                 ctx.data_type(kOwnRecurrentWeights));
  ctx.add_result(sizes.state(), type);
  ctx.add_result(sizes.state(), type);
}

void single_gate_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kRecurrentWeights);
  for (int r : {kHidden, kGates}) ctx.set(r, joined);
  ctx.set(kLastHidden, rnn::on_axis(joined, 0));
}

void single_gate_gradient_batch(BatchContext& ctx) {
  const BatchAxis joined = rnn::join_samples(ctx, kOwnRecurrentWeights);
  ctx.set(0, joined);
  for (int r : {2, 3}) ctx.set(r, rnn::on_axis(joined, 0));
}

void single_gate_rule(GradContext& ctx) {
  const auto input = [&](int i) { return rnn::input_of(ctx, i); };
  const auto results = ctx.program().append(
      OpKind::SingleGateStepsGradient, ctx.attrs<SingleGateAttrs>(),
      {ctx.result(kGates), input(kRecurrentWeights), input(kInitialState),
       input(kMask), input(kLengths), ctx.result_gradient(kHidden),
       ctx.result_gradient(kGates), ctx.result_gradient(kLastHidden)});
  ctx.set(kX, results[0]);
  ctx.set(kRecurrentWeights, results[1]);
  ctx.set(kInitialState, results[2]);
  ctx.set(kMask, results[3]);
}

}  // namespace

OpDef define_single_gate_steps() {
  return {.inputs = {{"x"},
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("mask"),
                     rnn::lengths()},
          .results = {"hidden", "gates", "last_hidden"},
          .shape_rule = single_gate_shape,
          .batch_rule = single_gate_batch,
          .gradient_rule = single_gate_rule,
          .mixed_form = MixedForm::Narrows,
          .fill_defaults = fill_gate_defaults};
}

// Gradients of inputs that are absent are those of zeros, and of ones for the
// mask.
OpDef define_single_gate_steps_gradient() {
  return {.inputs = {{"gates"},
                     {"recurrent_weights"},
                     rnn::optional("initial_state"),
                     rnn::optional("mask"),
                     rnn::lengths(),
                     rnn::optional("hidden_gradient"),
                     rnn::optional("gates_gradient"),
                     rnn::optional("last_hidden_gradient")},
          .results = {"dx", "drecurrent_weights", "dinitial_state", "dmask"},
          .shape_rule = single_gate_gradient_shape,
          .batch_rule = single_gate_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .fill_defaults = fill_gate_defaults};
}

}  // namespace traingraph
