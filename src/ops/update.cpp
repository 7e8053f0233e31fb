// SPDX-License-Identifier: MIT
// The optimizer updates and what surrounds them: clip_scale for clipping by
// norm, update_loss_scale for gradients in float16, accumulate_gradient for
// several batches per update. Parameters and slots are variables that the ops
// write; updates have no results, and change nothing when `scale` is below 0.
// `hyperparameters`, `factors` and `loss_scale` are structs of
// formulas/run_time_scalars.h. The result `scale` is 1, or -1 when the step is
// skipped because gradients are not finite, and the result `hyperparameters` is
// that of a step whose number does not count skipped ones.
#include "ops/update.h"

#include <cmath>
#include <string>
#include <variant>

#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr int kNumHyperparameters =
    formulas::num_entries<formulas::Hyperparameters>();

void require_range(const ShapeContext& ctx, const char* attribute, float value,
                   bool is_in_range, const char* expected) {
  ctx.require_attribute(std::isfinite(value) && is_in_range,
                        std::string(attribute) + " out of range", expected,
                        format_value(value));
}

void require_finite(const ShapeContext& ctx, const char* attribute,
                    float value) {
  require_range(ctx, attribute, value, true, "a finite number");
}

void require_not_negative(const ShapeContext& ctx, const char* attribute,
                          float value) {
  require_range(ctx, attribute, value, value >= 0,
                "a finite number, at least 0");
}

void require_decay(const ShapeContext& ctx, const char* attribute,
                   float value) {
  require_range(ctx, attribute, value, value >= 0 && value < 1,
                "at least 0 and below 1");
}

/// A slot that an attribute switches on must be there.
void require_slot(const ShapeContext& ctx, int input, bool is_used,
                  const char* attribute) {
  ctx.require_attribute(
      !is_used || ctx.has(input),
      "input \"" + std::string(ctx.input_name(input)) + "\" is missing",
      std::string("a variable, because of ") + attribute, "none");
}

/// What the attribute structs of all updates share.
template <class Attrs>
void require_update_attrs(const ShapeContext& ctx, const Attrs& attrs) {
  require_finite(ctx, "gradient_rescale", attrs.gradient_rescale);
  require_finite(ctx, "regularization_scale", attrs.regularization_scale);
  require_not_negative(ctx, "lr_scale", attrs.lr_scale);
  const bool is_range = attrs.gradient_clip_min <= attrs.gradient_clip_max;
  ctx.require_attribute(!attrs.clips_by_value || is_range,
                        "the clipping range is empty",
                        "gradient_clip_min at most gradient_clip_max",
                        format_value(attrs.gradient_clip_min) + " and " +
                            format_value(attrs.gradient_clip_max));
}

/// Requires gradient and slots to be like the parameter (input 0); then come
/// the hyperparameters and perhaps a scale.
void require_update_inputs(const ShapeContext& ctx, int hyperparameters) {
  for (int input = 1; input < hyperparameters; ++input) {
    if (ctx.has(input)) ctx.require_same_shape(input, 0);
  }
  ctx.require_shape(hyperparameters, Shape{kNumHyperparameters});
  if (ctx.has(hyperparameters + 1))
    ctx.require_shape(hyperparameters + 1, Shape{1});
}

void sgd_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SgdUpdateAttrs>();
  require_update_attrs(ctx, attrs);
  require_not_negative(ctx, "momentum_scale", attrs.momentum_scale);
  require_slot(ctx, 2, attrs.momentum_scale != 0, "momentum_scale");
  require_update_inputs(ctx, /*hyperparameters=*/3);
}

void adam_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<AdamUpdateAttrs>();
  require_update_attrs(ctx, attrs);
  require_decay(ctx, "beta1", attrs.beta1);
  require_decay(ctx, "beta2", attrs.beta2);
  require_not_negative(ctx, "epsilon", attrs.epsilon);
  require_slot(ctx, 4, attrs.uses_amsgrad, "uses_amsgrad");
  require_update_inputs(ctx, /*hyperparameters=*/5);
}

void rmsprop_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<RmspropUpdateAttrs>();
  require_update_attrs(ctx, attrs);
  require_not_negative(ctx, "momentum_scale", attrs.momentum_scale);
  require_decay(ctx, "alpha", attrs.alpha);
  require_not_negative(ctx, "epsilon", attrs.epsilon);
  require_slot(ctx, 3, attrs.momentum_scale != 0, "momentum_scale");
  require_slot(ctx, 4, attrs.is_centered, "is_centered");
  require_update_inputs(ctx, /*hyperparameters=*/5);
}

void clip_scale_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<ClipScaleAttrs>();
  require_range(ctx, "maximum_norm", attrs.maximum_norm, attrs.maximum_norm > 0,
                "a finite number above 0");
  require_not_negative(ctx, "custom_norm", attrs.custom_norm);
  ctx.require_shape(0, Shape{kNumHyperparameters});
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
  require_decay(ctx, "beta1", attrs.beta1);
  require_decay(ctx, "beta2", attrs.beta2);
  ctx.require_shape(0, Shape{formulas::num_entries<formulas::LossScale>()});
  ctx.require_shape(1, Shape{kNumHyperparameters});
  for (int input = 2; input < ctx.num_inputs(); ++input) {
    ctx.require_shape(input, Shape{1});
  }
  ctx.add_result(Shape{1}, DataType::Float32);
  ctx.add_result(Shape{kNumHyperparameters}, DataType::Float32);
}

void accumulate_gradient_shape(ShapeContext& ctx) {
  ctx.require_same_shape(1, 0);
  ctx.require_shape(
      2, Shape{formulas::num_entries<formulas::AccumulationFactors>()});
}

/// Computed in float32 whatever it is stored as.
constexpr InputDef parameter() {
  return {.name = "parameter", .types = kFloat, .is_mutated = true};
}

constexpr InputDef mutated(const char* name) {
  return {.name = name, .types = kFloat32, .is_mutated = true};
}

constexpr InputDef mutated_optional(const char* name) {
  return {
      .name = name, .types = kFloat32, .is_optional = true, .is_mutated = true};
}

constexpr InputDef optional(const char* name) {
  return {.name = name, .types = kFloat32, .is_optional = true};
}

using formulas::UpdateParams;

/// What the attributes of all updates share.
template <class Attrs>
UpdateParams shared_params(const Attrs& attrs) {
  UpdateParams params{.lr_scale = attrs.lr_scale,
                      .rescale = attrs.gradient_rescale,
                      .clip_min = attrs.gradient_clip_min,
                      .clip_max = attrs.gradient_clip_max,
                      .strength = attrs.regularization_scale};
  if (attrs.clips_by_value) params.options |= formulas::kClipsByValue;
  switch (attrs.regularization_type) {
    case RegularizationType::None:
      break;
    case RegularizationType::L1:
      params.options |= formulas::kL1;
      break;
    case RegularizationType::L2:
      params.options |= formulas::kL2;
      break;
  }
  return params;
}

UpdateParams step_params(const SgdUpdateAttrs& attrs, bool has_momentum) {
  UpdateParams params = shared_params(attrs);
  params.momentum = attrs.momentum_scale;
  if (has_momentum) params.options |= formulas::kMomentum;
  if (attrs.uses_nesterov_momentum) params.options |= formulas::kNesterov;
  return params;
}

UpdateParams step_params(const AdamUpdateAttrs& attrs, bool /*has_momentum*/) {
  UpdateParams params = shared_params(attrs);
  params.beta1 = attrs.beta1;
  params.beta2 = attrs.beta2;
  params.epsilon = attrs.epsilon;
  if (attrs.uses_amsgrad) params.options |= formulas::kAmsgrad;
  if (attrs.decoupled_decay) {
    params.options &= ~(formulas::kL1 | formulas::kL2);
    params.options |= formulas::kDecoupledDecay;
  }
  return params;
}

UpdateParams step_params(const RmspropUpdateAttrs& attrs, bool has_momentum) {
  UpdateParams params = shared_params(attrs);
  params.momentum = attrs.momentum_scale;
  params.beta1 = attrs.alpha;
  params.epsilon = attrs.epsilon;
  if (has_momentum) params.options |= formulas::kMomentum;
  if (attrs.is_centered) params.options |= formulas::kCentered;
  return params;
}

}  // namespace

bool is_optimizer_update(OpKind op) {
  switch (op) {
#define UPDATE(Op, name, Step) case OpKind::Op:
    TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
    return true;
    default:
      return false;
  }
}

UpdateParams update_params(const Attributes& attrs, bool has_momentum) {
  return std::visit(
      [&](const auto& own) -> UpdateParams {
        if constexpr (requires { step_params(own, has_momentum); }) {
          return step_params(own, has_momentum);
        } else {
          throw InternalError("no optimizer's attributes");
        }
      },
      attrs);
}

OpDef define_sgd_update() {
  return {.inputs = {parameter(),
                     {"gradient", kFloat32},
                     mutated_optional("momentum"),
                     {"hyperparameters", kFloat32},
                     optional("scale")},
          .shape_rule = sgd_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

OpDef define_adam_update() {
  return {.inputs = {parameter(),
                     {"gradient", kFloat32},
                     mutated("momentum"),
                     mutated("velocity"),
                     mutated_optional("maximum_velocity"),
                     {"hyperparameters", kFloat32},
                     optional("scale")},
          .shape_rule = adam_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

OpDef define_rmsprop_update() {
  return {.inputs = {parameter(),
                     {"gradient", kFloat32},
                     mutated("square_average"),
                     mutated_optional("momentum"),
                     mutated_optional("gradient_average"),
                     {"hyperparameters", kFloat32},
                     optional("scale")},
          .shape_rule = rmsprop_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

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
  return {.inputs = {mutated("loss_scale"),
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
  return {.inputs = {mutated("accumulator"),
                     {"gradient", kFloat32},
                     {"factors", kFloat32}},
          .shape_rule = accumulate_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = batch::fixed,
          .no_gradient = NoGradient::Missing};
}

}  // namespace traingraph
