// SPDX-License-Identifier: MIT
// Optimizers: hyperparameters and the update rule they become. Formulas:
// docs/differences.md and the classes below; state buffers are zeroed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/op_attrs.h"
#include "traingraph/schedule.h"

namespace traingraph {

/// All optimizers share these. A raw gradient G (summed over the batch) becomes
/// clip(G) when clipping is on, times gradient_rescale, plus the derivative of
/// the regularization (L1: scale * sign(p), L2: scale * p). InvalidArgument for
/// fields that the chosen types do not use.
struct OptimizerDescriptor {
  float learning_rate = 1e-3f;
  float gradient_rescale = 1;
  /// May change. Not given: on just where a field of clipping is not as here.
  std::optional<bool> applies_gradient_clipping = std::nullopt;
  GradientClippingType gradient_clipping_type = GradientClippingType::ByValue;
  float gradient_clip_max = 1;
  float gradient_clip_min = -1;
  float maximum_clipping_norm = 1;
  /// A value other than 0 replaces the computed global norm.
  float custom_global_norm = 0;
  RegularizationType regularization_type = RegularizationType::None;
  float regularization_scale = 0;
  bool operator==(const OptimizerDescriptor&) const = default;
};

class TRAINGRAPH_API Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// The descriptor is as given; applies_gradient_clipping is never empty.
  OptimizerDescriptor descriptor() const { return descriptor_; }

  /// All take effect at the next update that is enqueued.
  float learning_rate() const { return learning_rate_at(time_step_); }
  /// Throws StateError while there is a schedule.
  void set_learning_rate(float rate);
  /// The rate of the update with time step t is schedule.rate(t - 1); none:
  /// it is what it was set to.
  std::optional<Schedule> schedule() const;
  void set_schedule(std::optional<Schedule> schedule);
  bool applies_gradient_clipping() const { return clips_; }
  void set_applies_gradient_clipping(bool clips) { clips_ = clips; }

  /// Number of the next update; starts at 1, advances after each update.
  std::uint64_t time_step() const { return time_step_; }
  void set_time_step(std::uint64_t step);

  virtual std::string_view name() const = 0;
  /// Names of the buffers of each parameter, in order.
  virtual std::vector<std::string_view> slots() const = 0;
  /// The update op and its attributes.
  virtual OpKind op() const = 0;
  virtual Attributes attributes() const = 0;
  /// The rate corrected for the current time step (Adam), else learning_rate.
  float corrected_rate() const {
    return corrected(learning_rate(), time_step());
  }
  /// Give the rate of an update with this time step, and what a rate then
  /// becomes.
  float learning_rate_at(std::uint64_t time_step) const;
  virtual float corrected(float rate, std::uint64_t /*time_step*/) const {
    return rate;
  }
  /// A copy that shares nothing.
  virtual std::unique_ptr<Optimizer> clone() const = 0;
  /// Equal ones have the same rule and hyperparameters, at the same time step.
  bool operator==(const Optimizer& other) const;

 protected:
  Optimizer(const OptimizerDescriptor& descriptor, std::uint64_t time_step);
  Optimizer(const Optimizer& other);

 private:
  friend class TimeSteps;  // src/runtime/execution/time_steps.h

  float scheduled_rate(std::uint64_t time_step) const;

  OptimizerDescriptor descriptor_;
  std::atomic<float> learning_rate_;
  std::atomic<bool> clips_;
  std::atomic<std::uint64_t> time_step_;
  /// Updates that gave their number back since time_step_ was set.
  std::shared_ptr<std::atomic<std::uint64_t>> num_dropped_;
  std::atomic<bool> is_scheduled_ = false;
  mutable std::mutex mutex_;  // of schedule_, and of counting
  std::optional<Schedule> schedule_;
};

using OptimizerPtr = std::shared_ptr<Optimizer>;

namespace optimizers {

/// p -= lr g; momentum: m = mu m + lr g, p -= m; Nesterov: m = mu m + g,
/// p -= lr (g + mu m).
class TRAINGRAPH_API SGD : public Optimizer {
 public:
  explicit SGD(const OptimizerDescriptor& descriptor, float momentum_scale = 0,
               bool uses_nesterov_momentum = false);
  explicit SGD(float learning_rate, float momentum_scale = 0,
               bool uses_nesterov_momentum = false);
  float momentum_scale() const { return momentum_scale_; }
  bool uses_nesterov_momentum() const { return uses_nesterov_momentum_; }
  std::string_view name() const override { return "sgd"; }
  std::vector<std::string_view> slots() const override;
  OpKind op() const override { return OpKind::SgdUpdate; }
  Attributes attributes() const override;
  std::unique_ptr<Optimizer> clone() const override;

 private:
  float momentum_scale_;
  bool uses_nesterov_momentum_;
};

/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
/// p -= lr sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) + epsilon).
/// AMSGrad divides by the largest v so far.
class TRAINGRAPH_API Adam : public Optimizer {
 public:
  explicit Adam(const OptimizerDescriptor& descriptor, float beta1 = 0.9f,
                float beta2 = 0.999f, float epsilon = 1e-8f,
                bool uses_amsgrad = false, std::uint64_t time_step = 1);
  explicit Adam(float learning_rate = 1e-3f, float beta1 = 0.9f,
                float beta2 = 0.999f, float epsilon = 1e-8f,
                bool uses_amsgrad = false, std::uint64_t time_step = 1);
  float beta1() const { return beta1_; }
  float beta2() const { return beta2_; }
  float epsilon() const { return epsilon_; }
  bool uses_amsgrad() const { return uses_amsgrad_; }
  std::string_view name() const override { return "adam"; }
  std::vector<std::string_view> slots() const override;
  OpKind op() const override { return OpKind::AdamUpdate; }
  Attributes attributes() const override;
  float corrected(float rate, std::uint64_t time_step) const override;
  std::unique_ptr<Optimizer> clone() const override;

 protected:
  /// Does not look at the regularization.
  Adam(const OptimizerDescriptor& descriptor, std::uint64_t time_step,
       float beta1, float beta2, float epsilon, bool uses_amsgrad);

 private:
  float beta1_, beta2_, epsilon_;
  bool uses_amsgrad_;
};

/// Adam with decoupled decay: p -= lr * regularization_scale * p instead of
/// regularization; InvalidArgument for a regularization_type.
class TRAINGRAPH_API AdamW : public Adam {
 public:
  explicit AdamW(const OptimizerDescriptor& descriptor, float beta1 = 0.9f,
                 float beta2 = 0.999f, float epsilon = 1e-8f,
                 bool uses_amsgrad = false, std::uint64_t time_step = 1);
  explicit AdamW(float learning_rate = 1e-3f, float beta1 = 0.9f,
                 float beta2 = 0.999f, float epsilon = 1e-8f,
                 bool uses_amsgrad = false, std::uint64_t time_step = 1);
  std::string_view name() const override { return "adamw"; }
  Attributes attributes() const override;
  std::unique_ptr<Optimizer> clone() const override;
};

/// n = a n + (1-a) g^2; d = sqrt(n) + epsilon, centered: sqrt(n - mean(g)^2) +
/// epsilon; D = mu D - lr g / d; p += D.
class TRAINGRAPH_API RMSProp : public Optimizer {
 public:
  explicit RMSProp(const OptimizerDescriptor& descriptor,
                   float momentum_scale = 0, float alpha = 0.99f,
                   float epsilon = 1e-8f, bool is_centered = false);
  explicit RMSProp(float learning_rate, float momentum_scale = 0,
                   float alpha = 0.99f, float epsilon = 1e-8f,
                   bool is_centered = false);
  float momentum_scale() const { return momentum_scale_; }
  float alpha() const { return alpha_; }
  float epsilon() const { return epsilon_; }
  bool is_centered() const { return is_centered_; }
  std::string_view name() const override { return "rmsprop"; }
  std::vector<std::string_view> slots() const override;
  OpKind op() const override { return OpKind::RmspropUpdate; }
  Attributes attributes() const override;
  std::unique_ptr<Optimizer> clone() const override;

 private:
  float momentum_scale_, alpha_, epsilon_;
  bool is_centered_;
};

}  // namespace optimizers
}  // namespace traingraph
