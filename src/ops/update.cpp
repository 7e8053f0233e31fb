// SPDX-License-Identifier: MIT
// The updates of optimizers. Parameters and slots are variables that the ops
// write; updates have no results, and change nothing when `scale` is below 0.
// `hyperparameters` is a struct of formulas/run_time_scalars.h. An optimizer is
// a section at the end of this file: its slots, what its step reads of the
// attributes, its definition and its words.
#include "ops/update.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "graph/attributes.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/op_docs.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using formulas::UpdateParams;

constexpr Hyperparameter kHyperparameters[] = {
    {"momentum_scale", Hyperparameter::kNotNegative,
     "How much of its last step a parameter keeps, mu."},
    {"uses_nesterov_momentum", Hyperparameter::kAny,
     "Is the momentum Nesterov's?"},
    {"beta1", Hyperparameter::kShare,
     "How much the mean of the gradient keeps."},
    {"beta2", Hyperparameter::kShare, "How much the mean of its square keeps."},
    {"alpha", Hyperparameter::kShare, "How much the running means keep."},
    {"epsilon", Hyperparameter::kPositive,
     "Is added to the root, so that nothing is divided by 0."},
    {"uses_amsgrad", Hyperparameter::kAny,
     "Is the largest mean of squares so far taken?"},
    {"is_centered", Hyperparameter::kAny,
     "Is the square of the mean gradient subtracted?"},
    {"decoupled_decay", Hyperparameter::kAny,
     "AdamW: does regularization_scale decay the parameter itself?"},
};

/// A tensor like the parameter. One that may be left out says which attribute
/// asks for it.
struct UpdateSlot {
  const char* name;
  const char* because = nullptr;
};

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

// --- SGD

constexpr UpdateSlot kSgdSlots[] = {{"momentum", "momentum_scale"}};
std::span<const UpdateSlot> slots_of(const SgdUpdateAttrs&) {
  return kSgdSlots;
}

UpdateParams step_params(const SgdUpdateAttrs& attrs, bool has_momentum) {
  UpdateParams params = shared_params(attrs);
  params.momentum = attrs.momentum_scale;
  if (has_momentum) params.options |= formulas::kMomentum;
  if (attrs.uses_nesterov_momentum) params.options |= formulas::kNesterov;
  return params;
}

constexpr const char* kSgdRule = R"doc(
    Stochastic gradient descent, with momentum if wanted.

    With the rate lr and the momentum mu each update computes ::

        p = p - lr * g                                   without momentum
        m = mu * m + lr * g;  p = p - m                  with momentum
        m = mu * m + g;  p = p - lr * (g + mu * m)       Nesterov's
)doc";

// --- Adam, AdamW

constexpr UpdateSlot kAdamSlots[] = {
    {"momentum"}, {"velocity"}, {"maximum_velocity", "uses_amsgrad"}};
std::span<const UpdateSlot> slots_of(const AdamUpdateAttrs&) {
  return kAdamSlots;
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

constexpr const char* kAdamRule = R"doc(
    Adam: steps by running means of the gradient and of its square.

    With the rate lr and the time step t, from 1, each update computes ::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        p = p - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)

    and with uses_amsgrad the largest v so far is in place of v.
)doc";

// --- RMSProp

constexpr UpdateSlot kRmspropSlots[] = {{"square_average"},
                                        {"momentum", "momentum_scale"},
                                        {"gradient_average", "is_centered"}};
std::span<const UpdateSlot> slots_of(const RmspropUpdateAttrs&) {
  return kRmspropSlots;
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

constexpr const char* kRmspropRule = R"doc(
    RMSProp: steps by the gradient, divided by a running mean of its size.

    With the rate lr and the momentum mu each update computes ::

        n = alpha * n + (1 - alpha) * g^2
        d = sqrt(n) + epsilon, or sqrt(n - a^2) + epsilon when centered,
            with a = alpha * a + (1 - alpha) * g
        p = p - lr * g / d                               without momentum
        m = mu * m - lr * g / d;  p = p + m              with momentum
)doc";

// --- what they have in common

template <class Attrs>
bool is_used(const Attrs& attrs, const UpdateSlot& slot) {
  bool is_used = slot.because == nullptr;
  for_each_field_of(attrs, [&](std::string_view name, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
      if (!is_used && name == slot.because) is_used = value != 0;
    }
  });
  return is_used;
}

void require_range(const ShapeContext& ctx, std::string_view attribute,
                   float value, bool is_in_range, const char* expected) {
  ctx.require_attribute(std::isfinite(value) && is_in_range,
                        std::string(attribute) + " out of range", expected,
                        format_value(value));
}

void require_finite(const ShapeContext& ctx, const char* attribute,
                    float value) {
  require_range(ctx, attribute, value, true, "a finite number");
}

void require_hyperparameter(const ShapeContext& ctx, std::string_view name,
                            float value) {
  const Hyperparameter* found = find_hyperparameter(name);
  if (!found) return;
  switch (found->range) {
    case Hyperparameter::kAny:
      return;
    case Hyperparameter::kNotNegative:
      return require_range(ctx, name, value, value >= 0,
                           "a finite number, at least 0");
    case Hyperparameter::kPositive:
      return require_range(ctx, name, value, value > 0,
                           "a finite number above 0");
    case Hyperparameter::kShare:
      return require_range(ctx, name, value, value >= 0 && value < 1,
                           "at least 0 and below 1");
  }
}

/// The inputs are the parameter, its gradient, the slots, the hyperparameters
/// and perhaps a scale.
template <class Attrs>
void update_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<Attrs>();
  require_finite(ctx, "gradient_rescale", attrs.gradient_rescale);
  require_finite(ctx, "regularization_scale", attrs.regularization_scale);
  require_range(ctx, "lr_scale", attrs.lr_scale, attrs.lr_scale >= 0,
                "a finite number, at least 0");
  const bool is_range = attrs.gradient_clip_min <= attrs.gradient_clip_max;
  ctx.require_attribute(!attrs.clips_by_value || is_range,
                        "the clipping range is empty",
                        "gradient_clip_min at most gradient_clip_max",
                        format_value(attrs.gradient_clip_min) + " and " +
                            format_value(attrs.gradient_clip_max));
  for_each_field_of(attrs, [&](std::string_view name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, float>) {
      require_hyperparameter(ctx, name, value);
    }
  });
  int input = 2;
  for (const UpdateSlot& slot : slots_of(attrs)) {
    ctx.require_attribute(ctx.has(input) || !is_used(attrs, slot),
                          "input \"" + std::string(slot.name) + "\" is missing",
                          std::string("a variable, because of ") +
                              (slot.because ? slot.because : "the optimizer"),
                          "none");
    ++input;
  }
  for (int like = 1; like < input; ++like) {
    if (ctx.has(like)) ctx.require_same_shape(like, 0);
  }
  ctx.require_shape(input,
                    Shape{formulas::num_entries<formulas::Hyperparameters>()});
  if (ctx.has(input + 1)) ctx.require_shape(input + 1, Shape{1});
}

template <class Attrs>
OpDef update_def() {
  // Computed in float32 whatever the parameter is stored as.
  OpDef def{
      .inputs = {{.name = "parameter", .types = kFloat, .is_mutated = true},
                 {"gradient", kFloat32}},
      .shape_rule = update_shape<Attrs>,
      .flops = flops::per_element,
      .batch_rule = batch::fixed,
      .no_gradient = NoGradient::Missing};
  for (const UpdateSlot& slot : slots_of(Attrs())) {
    def.inputs.push_back({.name = slot.name,
                          .types = kFloat32,
                          .is_optional = slot.because != nullptr,
                          .is_mutated = true});
  }
  def.inputs.push_back({"hyperparameters", kFloat32});
  def.inputs.push_back(
      {.name = "scale", .types = kFloat32, .is_optional = true});
  return def;
}

/// `rule` says what is computed, of parameters p, gradients g, the rate lr and
/// state that starts as zeros.
std::string update_doc(const char* rule, std::span<const UpdateSlot> slots) {
  std::string doc = rule;
  doc += R"doc(
    Args:
        parameter: p, what is trained; written.
        gradient: float32, of its shape.)doc";
  for (const UpdateSlot& slot : slots) {
    doc += std::string("\n        ") + slot.name +
           ": float32, of its shape; written";
    if (slot.because) {
      doc += std::string(", with\n            ``") + slot.because + "``";
    }
    doc += '.';
  }
  return doc + R"doc(
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        scale: float32, (1): multiplies the gradient; below 0 the update is
            left out. None: 1.

    Returns:
        None: It writes its inputs.
)doc";
}

}  // namespace

// --- the ops

OpDef define_sgd_update() { return update_def<SgdUpdateAttrs>(); }
std::string document_sgd_update() { return update_doc(kSgdRule, kSgdSlots); }
OpDef define_adam_update() { return update_def<AdamUpdateAttrs>(); }
std::string document_adam_update() { return update_doc(kAdamRule, kAdamSlots); }
OpDef define_rmsprop_update() { return update_def<RmspropUpdateAttrs>(); }
std::string document_rmsprop_update() {
  return update_doc(kRmspropRule, kRmspropSlots);
}

// --- what is known of them

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

const Hyperparameter* find_hyperparameter(std::string_view name) {
  const auto* const found =
      std::ranges::find(kHyperparameters, name, &Hyperparameter::name);
  return found == std::end(kHyperparameters) ? nullptr : found;
}

std::vector<std::string_view> update_slots(const Attributes& attrs) {
  std::vector<std::string_view> names;
  std::visit(
      [&](const auto& own) {
        if constexpr (requires { slots_of(own); }) {
          for (const UpdateSlot& slot : slots_of(own)) {
            if (is_used(own, slot)) names.push_back(slot.name);
          }
        }
      },
      attrs);
  return names;
}

}  // namespace traingraph
