// SPDX-License-Identifier: MIT
// What surrounds the updates of optimizers: clip_scale for clipping by norm,
// update_loss_scale for gradients in float16, accumulate_gradient for several
// batches per update. The result `scale` is 1, or -1 when the step is skipped
// because gradients are not finite, and the result `hyperparameters` is that of
// a step whose number does not count skipped ones.
#include <cmath>
#include <string>

#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/op_docs.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

constexpr int kNumStepScalars =
    formulas::num_entries<formulas::Hyperparameters>();

void require_within(const ShapeContext& ctx, const char* attribute, float value,
                    bool is_in_range, const char* expected) {
  ctx.require_attribute(std::isfinite(value) && is_in_range,
                        std::string(attribute) + " out of range", expected,
                        format_value(value));
}

void require_decay_share(const ShapeContext& ctx, const char* attribute,
                         float value) {
  require_within(ctx, attribute, value, value >= 0 && value < 1,
                 "at least 0 and below 1");
}

void clip_scale_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<ClipScaleAttrs>();
  require_within(ctx, "maximum_norm", attrs.maximum_norm,
                 attrs.maximum_norm > 0, "a finite number above 0");
  require_within(ctx, "custom_norm", attrs.custom_norm, attrs.custom_norm >= 0,
                 "a finite number, at least 0");
  ctx.require_shape(0, Shape{kNumStepScalars});
  // The gradient that each square is of, as (1, n), may follow the squares.
  const int given = ctx.num_inputs() - 1;
  const bool has_gradients =
      given > 1 && ctx.shape(given).rank() == 2 && ctx.shape(given)[0] == 1;
  const int num_squares = has_gradients ? given / 2 : given;
  for (int input = 1; input <= given; ++input) {
    ctx.require_shape(input, input <= num_squares
                                 ? Shape{1}
                                 : Shape{1, ctx.shape(input).num_elements()});
  }
  if (has_gradients && given % 2 != 0) {
    ctx.fail_shape("squared norms and gradients do not pair",
                   "a gradient for each of " + std::to_string(num_squares),
                   std::to_string(given - num_squares));
  }
  ctx.add_result(Shape{1}, DataType::Float32);
}

void update_loss_scale_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<LossScaleAttrs>();
  ctx.require_positive("interval", attrs.interval);
  require_decay_share(ctx, "beta1", attrs.beta1);
  require_decay_share(ctx, "beta2", attrs.beta2);
  ctx.require_shape(0, Shape{formulas::num_entries<formulas::LossScale>()});
  ctx.require_shape(1, Shape{kNumStepScalars});
  for (int input = 2; input < ctx.num_inputs(); ++input) {
    ctx.require_shape(input, Shape{1});
  }
  ctx.add_result(Shape{1}, DataType::Float32);
  ctx.add_result(Shape{kNumStepScalars}, DataType::Float32);
}

void accumulate_gradient_shape(ShapeContext& ctx) {
  ctx.require_same_shape(1, 0);
  ctx.require_shape(
      2, Shape{formulas::num_entries<formulas::AccumulationFactors>()});
}

constexpr InputDef written_scalars(const char* name) {
  return {.name = name, .types = kFloat32, .is_mutated = true};
}

}  // namespace

OpDef define_clip_scale() {
  return {.inputs = {{"hyperparameters", kFloat32},
                     {.name = "squared_norms",
                      .types = kFloat32,
                      .is_variadic = true}},
          .results = {"scale"},
          .shape_rule = clip_scale_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

OpDef define_update_loss_scale() {
  return {.inputs = {written_scalars("loss_scale"),
                     {"hyperparameters", kFloat32},
                     {.name = "squared_norms",
                      .types = kFloat32,
                      .is_variadic = true}},
          .results = {"scale", "hyperparameters"},
          .shape_rule = update_loss_scale_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

OpDef define_accumulate_gradient() {
  return {.inputs = {written_scalars("accumulator"),
                     {"gradient", kFloat32},
                     {"factors", kFloat32}},
          .shape_rule = accumulate_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

std::string document_clip_scale() {
  return R"doc(
    What gradients are multiplied by so that their norm is at most a maximum:
    ``min(1, maximum_norm / norm)``, or 1 while clipping is off.

    Args:
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        squared_norms: float32, (1) each, of the gradients; behind them, if at
            all, each gradient as (1, n).

    Returns:
        scale: float32, (1).
)doc";
}

std::string document_update_loss_scale() {
  return R"doc(
    Adapts the factor of a loss whose gradients are in float16: doubles it, up
    to 2^24, after ``interval`` steps with finite gradients, and halves it, down
    to 2^-24, after one without, which is left out.

    Args:
        loss_scale: float32, (4): the factor, finite steps since it changed,
            skipped steps, 0; written.
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        squared_norms: float32, (1) each, of the gradients.

    Returns:
        scale: float32, (1): 1, or -1 where the step is left out.
        hyperparameters: float32, (4): without the steps that were left out.
)doc";
}

std::string document_accumulate_gradient() {
  return R"doc(
    Adds a gradient to those of earlier batches.

    Args:
        accumulator: float32; written.
        gradient: float32, of its shape.
        factors: float32, (2): of what the accumulator holds, and of the
            gradient.

    Returns:
        None: It writes its inputs.
)doc";
}

}  // namespace traingraph
