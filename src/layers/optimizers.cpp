// SPDX-License-Identifier: MIT
// Optimizers as update ops: checks of the hyperparameters and the attributes
// they become. Clipping by norm is a factor that other ops compute.
#include "traingraph/optimizers.h"

#include <cctype>
#include <type_traits>

#include "formulas/loss_scale.h"
#include "graph/attributes.h"
#include "layers/optimizer_kinds.h"
#include "layers/time_steps.h"
#include "layers/validate.h"
#include "ops/update.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

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

/// Of regularization: the decay of AdamW, which has no other, is decoupled.
void require_regularization(const char* op,
                            const OptimizerDescriptor& descriptor,
                            bool is_decoupled) {
  const auto type = descriptor.regularization_type;
  const bool is_none = type == RegularizationType::None;
  if (is_decoupled) {
    require_option(is_none, op, "regularization_type",
                   "none: the decay is decoupled", std::string(to_string(type)),
                   "Give regularization_scale alone, or use Adam.");
  } else if (is_none) {
    require_unused("Optimizer", "regularization_scale",
                   descriptor.regularization_scale, 0.0f,
                   "regularization_type none");
  }
}

/// Gives attributes what those of all updates share. Whether clipping is on is
/// a run-time switch, so the descriptor's own switch does not matter here.
template <class Attrs>
void describe(const OptimizerDescriptor& descriptor, Attrs& attrs) {
  attrs.gradient_rescale = descriptor.gradient_rescale;
  attrs.clips_by_value =
      descriptor.gradient_clipping_type == GradientClippingType::ByValue;
  attrs.gradient_clip_min = descriptor.gradient_clip_min;
  attrs.gradient_clip_max = descriptor.gradient_clip_max;
  attrs.regularization_type = descriptor.regularization_type;
  attrs.regularization_scale = descriptor.regularization_scale;
  attrs.lr_scale = Attrs().lr_scale;
}

void require_hyperparameter(const char* op, const char* field, float value) {
  const Hyperparameter* found = find_hyperparameter(field);
  if (!found) return;
  switch (found->range) {
    case Hyperparameter::kAny:
      return;
    case Hyperparameter::kNotNegative:
      return require_not_negative(op, field, value);
    case Hyperparameter::kPositive:
      return require_above_zero(op, field, value);
    case Hyperparameter::kShare:
      return require_option(value >= 0 && value < 1, op, field, "in [0, 1)",
                            format_value(value));
  }
}

template <class Attrs>
void require_hyperparameters(const char* op, const Attrs& attrs) {
  for_each_field_of(attrs, [&](const char* field, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, float>) {
      require_hyperparameter(op, field, value);
    }
  });
  if constexpr (requires { attrs.uses_nesterov_momentum; }) {
    require_option(!attrs.uses_nesterov_momentum || attrs.momentum_scale > 0,
                   op, "momentum_scale", "above 0 with uses_nesterov_momentum",
                   format_value(attrs.momentum_scale));
  }
}

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = static_cast<char>(std::tolower(c));
  return small;
}

template <class Class>
OptimizerKind kind_of() {
  return {.name = in_small_letters(Class::kName),
          .type = typeid(Class),
          .default_attributes = typename Class::Attrs(),
          .make = [](const OptimizerDescriptor& descriptor,
                     const Attributes& attrs) -> OptimizerPtr {
            return std::make_shared<Class>(
                descriptor, std::get<typename Class::Attrs>(attrs));
          }};
}

template <class... Classes>
std::span<const OptimizerKind> kinds_of(optimizers::ClassList<Classes...>) {
  static const OptimizerKind kinds[] = {kind_of<Classes>()...};
  return kinds;
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

LibraryOptimizer::LibraryOptimizer(std::string_view class_name, OpKind op,
                                   const OptimizerDescriptor& descriptor,
                                   const Attributes& hyperparameters,
                                   std::uint64_t time_step)
    : Optimizer(descriptor, time_step),
      name_(in_small_letters(class_name)),
      op_(op),
      attributes_(hyperparameters) {
  const std::string subject(class_name);
  std::visit(
      [&](auto& attrs) {
        if constexpr (requires { attrs.gradient_rescale; }) {
          bool is_decoupled = false;
          if constexpr (requires { attrs.decoupled_decay; }) {
            is_decoupled = attrs.decoupled_decay;
          }
          require_regularization(subject.c_str(), descriptor, is_decoupled);
          require_hyperparameters(subject.c_str(), attrs);
          describe(descriptor, attrs);
        }
      },
      attributes_);
}

OptimizerDescriptor LibraryOptimizer::of_rate(float learning_rate) {
  OptimizerDescriptor descriptor;
  descriptor.learning_rate = learning_rate;
  return descriptor;
}

std::vector<std::string_view> LibraryOptimizer::slots() const {
  return update_slots(attributes_);
}

float optimizers::Adam::corrected(float rate, std::uint64_t time_step) const {
  return static_cast<float>(formulas::corrected_rate(
      rate, beta1(), beta2(), static_cast<double>(time_step)));
}

std::span<const OptimizerKind> optimizer_kinds() {
  return kinds_of(optimizers::All());
}

}  // namespace traingraph
