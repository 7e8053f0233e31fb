// SPDX-License-Identifier: MIT
// What the loops behind the losses share. The prediction's stored type varies,
// and with it that of its gradient; losses and weights are float32, and so are
// labels that are no indices of classes.
#pragma once

#include <cstdint>

#include "lowering/plans/loss_plan.h"

namespace traingraph::cpu {

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
