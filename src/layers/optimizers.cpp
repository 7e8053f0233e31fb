// SPDX-License-Identifier: MIT
// Optimizers as update ops: checks of the hyperparameters and the attributes
// they become. Clipping by norm is a factor that other ops compute.
#include "traingraph/optimizers.h"

#include <cmath>

#include "layers/optimizer_kinds.h"
#include "layers/time_steps.h"
#include "layers/validate.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void require_beta(const char* op, const char* field, float value) {
  require_option(value >= 0 && value < 1, op, field, "in [0, 1)",
                 format_value(value));
}

void require_above_zero(const char* op, const char* field, float value) {
  require_finite(op, field, value);
  require_option(value > 0, op, field, "above 0", format_value(value));
}

void require_step(std::uint64_t step) {
  require_option(step >= 1 && step <= kMaxTimeSteps, "Optimizer", "time_step",
                 "1 to " + std::to_string(kMaxTimeSteps), std::to_string(step));
}

void require_clipping_fields(const OptimizerDescriptor& descriptor) {
  constexpr const char* kOp = "Optimizer";
  const OptimizerDescriptor unset;
  const auto type = descriptor.gradient_clipping_type;
  const std::string name = "clipping " + std::string(to_string(type));
  if (type == GradientClippingType::ByValue) {
    require_unused(kOp, "maximum_clipping_norm",
                   descriptor.maximum_clipping_norm,
                   unset.maximum_clipping_norm, name);
  } else {
    require_unused(kOp, "gradient_clip_min", descriptor.gradient_clip_min,
                   unset.gradient_clip_min, name);
    require_unused(kOp, "gradient_clip_max", descriptor.gradient_clip_max,
                   unset.gradient_clip_max, name);
  }
  if (type != GradientClippingType::ByGlobalNorm) {
    require_unused(kOp, "custom_global_norm", descriptor.custom_global_norm,
                   unset.custom_global_norm, name);
  }
}

void validate(const OptimizerDescriptor& descriptor) {
  constexpr const char* kOp = "Optimizer";
  require_not_negative(kOp, "learning_rate", descriptor.learning_rate);
  require_finite(kOp, "gradient_rescale", descriptor.gradient_rescale);
  require_option(
      to_string(descriptor.gradient_clipping_type) != "?", kOp,
      "gradient_clipping_type", "a case of GradientClippingType",
      std::to_string(static_cast<int>(descriptor.gradient_clipping_type)));
  require_option(descriptor.gradient_clip_min <= descriptor.gradient_clip_max,
                 kOp, "gradient_clip_min", "at most gradient_clip_max",
                 format_value(descriptor.gradient_clip_min) + " > " +
                     format_value(descriptor.gradient_clip_max));
  require_above_zero(kOp, "maximum_clipping_norm",
                     descriptor.maximum_clipping_norm);
  require_not_negative(kOp, "custom_global_norm",
                       descriptor.custom_global_norm);
  require_option(
      to_string(descriptor.regularization_type) != "?", kOp,
      "regularization_type", "a case of RegularizationType",
      std::to_string(static_cast<int>(descriptor.regularization_type)));
  require_finite(kOp, "regularization_scale", descriptor.regularization_scale);
  require_clipping_fields(descriptor);
}

/// Turns the switch on where clipping is not as in a descriptor of nothing.
OptimizerDescriptor with_switch(OptimizerDescriptor descriptor) {
  if (descriptor.applies_gradient_clipping) return descriptor;
  const OptimizerDescriptor unset;
  const auto is_given = [&](auto field) {
    return descriptor.*field != unset.*field;
  };
  descriptor.applies_gradient_clipping =
      is_given(&OptimizerDescriptor::gradient_clipping_type) ||
      is_given(&OptimizerDescriptor::gradient_clip_max) ||
      is_given(&OptimizerDescriptor::gradient_clip_min) ||
      is_given(&OptimizerDescriptor::maximum_clipping_norm) ||
      is_given(&OptimizerDescriptor::custom_global_norm);
  return descriptor;
}

/// Serves kinds whose decay is part of the gradient.
OptimizerDescriptor with_regularization(const OptimizerDescriptor& descriptor) {
  if (descriptor.regularization_type == RegularizationType::None) {
    require_unused("Optimizer", "regularization_scale",
                   descriptor.regularization_scale, 0.0f,
                   "regularization_type none");
  }
  return descriptor;
}

/// Serves AdamW, which has but one.
OptimizerDescriptor with_decoupled_decay(
    const OptimizerDescriptor& descriptor) {
  require_option(descriptor.regularization_type == RegularizationType::None,
                 "AdamW", "regularization_type", "none: the decay is decoupled",
                 std::string(to_string(descriptor.regularization_type)),
                 "Give regularization_scale alone, or use Adam.");
  return descriptor;
}

OptimizerDescriptor with_rate(float learning_rate) {
  OptimizerDescriptor descriptor;
  descriptor.learning_rate = learning_rate;
  return descriptor;
}

/// What all update ops have. Whether clipping is on is a run-time switch, so
/// the descriptor's own switch does not matter here.
template <class Attrs>
Attrs update_attributes(const OptimizerDescriptor& descriptor) {
  Attrs attrs;
  attrs.gradient_rescale = descriptor.gradient_rescale;
  attrs.clips_by_value =
      descriptor.gradient_clipping_type == GradientClippingType::ByValue;
  attrs.gradient_clip_min = descriptor.gradient_clip_min;
  attrs.gradient_clip_max = descriptor.gradient_clip_max;
  attrs.regularization_type = descriptor.regularization_type;
  attrs.regularization_scale = descriptor.regularization_scale;
  return attrs;
}

}  // namespace

Optimizer::Optimizer(const OptimizerDescriptor& descriptor,
                     std::uint64_t time_step)
    : descriptor_(with_switch(descriptor)),
      learning_rate_(descriptor.learning_rate),
      clips_(*descriptor_.applies_gradient_clipping),
      time_step_(time_step),
      num_dropped_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  validate(descriptor);
  require_step(time_step);
}

Optimizer::Optimizer(const Optimizer& other)
    : descriptor_(other.descriptor_),
      learning_rate_(other.learning_rate_.load()),
      clips_(other.clips_.load()),
      time_step_(other.time_step_.load()),
      num_dropped_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  set_schedule(other.schedule());
}

bool Optimizer::operator==(const Optimizer& other) const {
  return name() == other.name() && descriptor_ == other.descriptor_ &&
         attributes() == other.attributes() &&
         learning_rate() == other.learning_rate() && clips_ == other.clips_ &&
         time_step_ == other.time_step_ && schedule() == other.schedule();
}

void Optimizer::set_learning_rate(float rate) {
  require_not_negative("Optimizer", "learning_rate", rate);
  if (is_scheduled_) {
    throw StateError(ErrorInfo{.op = "learning_rate",
                               .node = {},
                               .what = "the optimizer has a schedule",
                               .expected = "no schedule",
                               .got = schedule().value().to_string(),
                               .hint = "Set another schedule, or none first."});
  }
  learning_rate_ = rate;
}

std::optional<Schedule> Optimizer::schedule() const {
  const std::scoped_lock lock(mutex_);
  return schedule_;
}

void Optimizer::set_schedule(std::optional<Schedule> schedule) {
  const std::scoped_lock lock(mutex_);
  schedule_ = std::move(schedule);
  is_scheduled_ = schedule_.has_value();
}

float Optimizer::learning_rate_at(std::uint64_t time_step) const {
  return is_scheduled_ ? scheduled_rate(time_step) : learning_rate_.load();
}

float Optimizer::scheduled_rate(std::uint64_t time_step) const {
  const std::scoped_lock lock(mutex_);
  return schedule_ ? schedule_->rate(time_step - 1) : learning_rate_.load();
}

void Optimizer::set_time_step(std::uint64_t step) {
  require_step(step);
  auto anew = std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::scoped_lock lock(mutex_);
  time_step_ = step;
  num_dropped_ = std::move(anew);
}

namespace optimizers {

SGD::SGD(const OptimizerDescriptor& descriptor, float momentum_scale,
         bool uses_nesterov_momentum)
    : Optimizer(with_regularization(descriptor), /*time_step=*/1),
      momentum_scale_(momentum_scale),
      uses_nesterov_momentum_(uses_nesterov_momentum) {
  require_not_negative("SGD", "momentum_scale", momentum_scale);
  require_option(!uses_nesterov_momentum || momentum_scale > 0, "SGD",
                 "momentum_scale", "above 0 with uses_nesterov_momentum",
                 format_value(momentum_scale));
}

SGD::SGD(float learning_rate, float momentum_scale, bool uses_nesterov_momentum)
    : SGD(with_rate(learning_rate), momentum_scale, uses_nesterov_momentum) {}

std::vector<std::string_view> SGD::slots() const {
  if (momentum_scale_ == 0) return {};
  return {"momentum"};
}

Attributes SGD::attributes() const {
  auto attrs = update_attributes<SgdUpdateAttrs>(descriptor());
  attrs.momentum_scale = momentum_scale_;
  attrs.uses_nesterov_momentum = uses_nesterov_momentum_;
  return attrs;
}

std::unique_ptr<Optimizer> SGD::clone() const {
  return std::make_unique<SGD>(*this);
}

Adam::Adam(const OptimizerDescriptor& descriptor, float beta1, float beta2,
           float epsilon, bool uses_amsgrad, std::uint64_t time_step)
    : Adam(with_regularization(descriptor), time_step, beta1, beta2, epsilon,
           uses_amsgrad) {}

Adam::Adam(const OptimizerDescriptor& descriptor, std::uint64_t time_step,
           float beta1, float beta2, float epsilon, bool uses_amsgrad)
    : Optimizer(descriptor, time_step),
      beta1_(beta1),
      beta2_(beta2),
      epsilon_(epsilon),
      uses_amsgrad_(uses_amsgrad) {
  require_beta("Adam", "beta1", beta1);
  require_beta("Adam", "beta2", beta2);
  require_above_zero("Adam", "epsilon", epsilon);
}

Adam::Adam(float learning_rate, float beta1, float beta2, float epsilon,
           bool uses_amsgrad, std::uint64_t time_step)
    : Adam(with_rate(learning_rate), beta1, beta2, epsilon, uses_amsgrad,
           time_step) {}

std::vector<std::string_view> Adam::slots() const {
  if (uses_amsgrad_) return {"momentum", "velocity", "maximum_velocity"};
  return {"momentum", "velocity"};
}

Attributes Adam::attributes() const {
  auto attrs = update_attributes<AdamUpdateAttrs>(descriptor());
  attrs.beta1 = beta1_;
  attrs.beta2 = beta2_;
  attrs.epsilon = epsilon_;
  attrs.uses_amsgrad = uses_amsgrad_;
  return attrs;
}

float Adam::corrected(float rate, std::uint64_t time_step) const {
  const auto t = static_cast<double>(time_step);
  const double first = 1 - std::pow(static_cast<double>(beta1_), t);
  const double second = 1 - std::pow(static_cast<double>(beta2_), t);
  return static_cast<float>(static_cast<double>(rate) * std::sqrt(second) /
                            first);
}

std::unique_ptr<Optimizer> Adam::clone() const {
  return std::make_unique<Adam>(*this);
}

AdamW::AdamW(const OptimizerDescriptor& descriptor, float beta1, float beta2,
             float epsilon, bool uses_amsgrad, std::uint64_t time_step)
    : Adam(with_decoupled_decay(descriptor), time_step, beta1, beta2, epsilon,
           uses_amsgrad) {}

AdamW::AdamW(float learning_rate, float beta1, float beta2, float epsilon,
             bool uses_amsgrad, std::uint64_t time_step)
    : AdamW(with_rate(learning_rate), beta1, beta2, epsilon, uses_amsgrad,
            time_step) {}

Attributes AdamW::attributes() const {
  auto attrs = std::get<AdamUpdateAttrs>(Adam::attributes());
  attrs.decoupled_decay = true;
  return attrs;
}

std::unique_ptr<Optimizer> AdamW::clone() const {
  return std::make_unique<AdamW>(*this);
}

RMSProp::RMSProp(const OptimizerDescriptor& descriptor, float momentum_scale,
                 float alpha, float epsilon, bool is_centered)
    : Optimizer(with_regularization(descriptor), /*time_step=*/1),
      momentum_scale_(momentum_scale),
      alpha_(alpha),
      epsilon_(epsilon),
      is_centered_(is_centered) {
  require_not_negative("RMSProp", "momentum_scale", momentum_scale);
  require_beta("RMSProp", "alpha", alpha);
  require_above_zero("RMSProp", "epsilon", epsilon);
}

RMSProp::RMSProp(float learning_rate, float momentum_scale, float alpha,
                 float epsilon, bool is_centered)
    : RMSProp(with_rate(learning_rate), momentum_scale, alpha, epsilon,
              is_centered) {}

std::vector<std::string_view> RMSProp::slots() const {
  std::vector<std::string_view> result{"square_average"};
  if (momentum_scale_ != 0) result.push_back("momentum");
  if (is_centered_) result.push_back("gradient_average");
  return result;
}

Attributes RMSProp::attributes() const {
  auto attrs = update_attributes<RmspropUpdateAttrs>(descriptor());
  attrs.momentum_scale = momentum_scale_;
  attrs.alpha = alpha_;
  attrs.epsilon = epsilon_;
  attrs.is_centered = is_centered_;
  return attrs;
}

std::unique_ptr<Optimizer> RMSProp::clone() const {
  return std::make_unique<RMSProp>(*this);
}

}  // namespace optimizers

std::span<const OptimizerKind> optimizer_kinds() {
  using namespace optimizers;
  static const OptimizerKind kinds[] = {
      {"sgd", typeid(SGD), OpKind::SgdUpdate,
       [](const OptimizerDescriptor& d,
          const Attributes& attrs) -> OptimizerPtr {
         const auto& a = std::get<SgdUpdateAttrs>(attrs);
         return std::make_shared<SGD>(d, a.momentum_scale,
                                      a.uses_nesterov_momentum);
       }},
      {"adam", typeid(Adam), OpKind::AdamUpdate,
       [](const OptimizerDescriptor& d,
          const Attributes& attrs) -> OptimizerPtr {
         const auto& a = std::get<AdamUpdateAttrs>(attrs);
         return std::make_shared<Adam>(d, a.beta1, a.beta2, a.epsilon,
                                       a.uses_amsgrad);
       }},
      {"adamw", typeid(AdamW), OpKind::AdamUpdate,
       [](const OptimizerDescriptor& d,
          const Attributes& attrs) -> OptimizerPtr {
         const auto& a = std::get<AdamUpdateAttrs>(attrs);
         return std::make_shared<AdamW>(d, a.beta1, a.beta2, a.epsilon,
                                        a.uses_amsgrad);
       }},
      {"rmsprop", typeid(RMSProp), OpKind::RmspropUpdate,
       [](const OptimizerDescriptor& d,
          const Attributes& attrs) -> OptimizerPtr {
         const auto& a = std::get<RmspropUpdateAttrs>(attrs);
         return std::make_shared<RMSProp>(d, a.momentum_scale, a.alpha,
                                          a.epsilon, a.is_centered);
       }},
  };
  return kinds;
}
}  // namespace traingraph
