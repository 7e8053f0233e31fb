// SPDX-License-Identifier: MIT
// What the loops behind the losses share. A loss is a list of element losses,
// each times its weight, then reduced; LossPlan says how many there are and how
// they lie. The prediction's stored type varies, and with it that of its
// gradient; losses and weights are float32, and so are labels that are no
// indices of classes.
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
  double divisor = 1;           // of the mean
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

template <class T>
struct LossArgs {
  const T* prediction = nullptr;
  const float* labels = nullptr;
  const std::int32_t* names = nullptr;       // of classes, instead of labels
  const std::int64_t* wide_names = nullptr;  // or these
  const float* weights = nullptr;            // null: ones
  const float* class_weights = nullptr;      // null: ones
  // Of the forward:
  float* result = nullptr;
  double* partials = nullptr;  // when reduced
  // Of the gradient:
  const float* gradient = nullptr;  // of the result
  T* dx = nullptr;                  // of the prediction
};

/// Element losses per partial sum of element-wise losses.
inline constexpr std::int64_t kLossBlock = 2048;
/// Positions of a sample that class losses handle side by side.
inline constexpr std::int64_t kLossColumns = 64;

/// Weight of element loss `i`.
template <class T>
float weight_of(const LossPlan& plan, const LossArgs<T>& args, std::int64_t i) {
  if (!args.weights) return 1.0f;
  return args.weights[plan.has_many_weights ? i : 0];
}

/// What the gradient of element loss `i` is multiplied with.
template <class T>
float gradient_scale(const LossPlan& plan, const LossArgs<T>& args,
                     std::int64_t i) {
  if (plan.divisor == 0) return 0;  // nothing counts
  return static_cast<float>(plan.scale() *
                            args.gradient[plan.is_reduced() ? 0 : i]) *
         weight_of(plan, args, i);
}

/// Adds up the partial sums, in order, into the one result.
void finish_loss(const LossPlan& plan, const double* partials, float* result);

}  // namespace traingraph::cpu
