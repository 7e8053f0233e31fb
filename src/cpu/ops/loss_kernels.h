// SPDX-License-Identifier: MIT
// The loops behind the losses. A loss is a list of element losses, each times
// its weight, then reduced; LossPlan says how many there are and how they lie.
#pragma once

#include <cstdint>

#include "traingraph/op_attrs.h"

namespace traingraph::cpu {

struct LossPlan {
  LossAttrs attrs;
  // Prediction seen as (samples, classes, inner); element-wise losses use the
  // product only.
  std::int64_t samples = 1, classes = 1, inner = 1;
  std::int64_t num_losses = 1;  // element losses
  /// Each element loss has a weight of its own, else all have weights[0].
  bool has_many_weights = false;

  std::int64_t num_elements() const { return samples * classes * inner; }
  bool is_reduced() const { return attrs.reduction != ReductionType::None; }
  /// attrs.weight, divided by the divisor of the mean.
  double scale() const;
  /// Doubles that partial sums need.
  std::int64_t num_partials() const;
};

LossPlan plan_loss(const LossAttrs& attrs, const Shape& prediction);

struct LossArgs {
  const float* prediction = nullptr;
  const float* labels = nullptr;
  const float* weights = nullptr;   // null: ones
  const float* gradient = nullptr;  // of the result; for the gradient
  float* result = nullptr;          // or the gradient of the prediction
  double* partials = nullptr;       // for the reduced loss
};

void run_loss(const LossPlan& plan, const LossArgs& args);
void run_loss_gradient(const LossPlan& plan, const LossArgs& args);

// The two kinds that look at more than one element at a time.
void run_class_loss(const LossPlan& plan, const LossArgs& args);
void run_class_loss_gradient(const LossPlan& plan, const LossArgs& args);
void run_cosine_loss(const LossPlan& plan, const LossArgs& args);
void run_cosine_loss_gradient(const LossPlan& plan, const LossArgs& args);

/// Element losses per partial sum of element-wise losses.
inline constexpr std::int64_t kLossBlock = 2048;
/// Positions of a sample that class losses handle side by side.
inline constexpr std::int64_t kLossColumns = 64;

/// Weight of element loss `i`.
inline float weight_of(const LossPlan& plan, const LossArgs& args,
                       std::int64_t i) {
  if (!args.weights) return 1.0f;
  return args.weights[plan.has_many_weights ? i : 0];
}

/// What the gradient of element loss `i` is multiplied with.
inline float gradient_scale(const LossPlan& plan, const LossArgs& args,
                            std::int64_t i) {
  return static_cast<float>(plan.scale() *
                            args.gradient[plan.is_reduced() ? 0 : i]) *
         weight_of(plan, args, i);
}

/// Adds up the partial sums, in order, into the one result.
void finish_loss(const LossPlan& plan, const LossArgs& args);

}  // namespace traingraph::cpu
