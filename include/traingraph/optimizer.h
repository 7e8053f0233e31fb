// SPDX-License-Identifier: MIT
// What optimizers have in common: rate, clipping, regularization, the time
// step, and the update rule they become. State buffers are zeroed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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

/// The library's own: their hyperparameters are what the attributes of their
/// update have beyond OptimizerDescriptor.
class TRAINGRAPH_API LibraryOptimizer : public Optimizer {
 public:
  /// The name of the class in small letters.
  std::string_view name() const override { return name_; }
  std::vector<std::string_view> slots() const override;
  OpKind op() const override { return op_; }
  Attributes attributes() const override { return attributes_; }

 protected:
  /// Throws InvalidArgument, which names the class, for hyperparameters that
  /// are out of range.
  LibraryOptimizer(std::string_view class_name, OpKind op,
                   const OptimizerDescriptor& descriptor,
                   const Attributes& hyperparameters,
                   std::uint64_t time_step = 1);
  static OptimizerDescriptor of_rate(float learning_rate);
  template <class Attrs>
  const Attrs& own() const {
    return std::get<Attrs>(attributes_);
  }

 private:
  std::string name_;
  OpKind op_;
  Attributes attributes_;
};

}  // namespace traingraph
