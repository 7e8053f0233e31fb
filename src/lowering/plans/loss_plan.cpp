// SPDX-License-Identifier: MIT
#include "lowering/plans/loss_plan.h"

#include "base/divide_up.h"
#include "ops/loss_shapes.h"

namespace traingraph {

LossPlan plan_loss(const LossAttrs& attrs, const Shape& prediction) {
  LossPlan plan;
  plan.attrs = attrs;
  plan.num_losses = element_loss_shape(attrs.type, prediction).num_elements();
  if (sums_over_classes(attrs.type)) {
    plan.samples = prediction[0];
    plan.classes = prediction[1];
    plan.inner = plan.num_losses / plan.samples;
  } else if (attrs.type == LossType::CosineDistance) {
    plan.samples = prediction[0];
    plan.inner = prediction.num_elements() / plan.samples;
  } else {
    plan.inner = plan.num_losses;
  }
  plan.divisor = static_cast<double>(plan.num_losses);
  return plan;
}

double LossPlan::scale() const {
  const bool is_mean = attrs.reduction == ReductionType::Mean;
  return attrs.weight / (is_mean ? divisor : 1.0);
}

std::int64_t LossPlan::num_partials() const {
  if (!is_reduced()) return 0;
  if (attrs.type == LossType::CosineDistance) return samples;
  if (sums_over_classes(attrs.type)) {
    return samples * divide_up(inner, kLossColumns);
  }
  return divide_up(num_losses, kLossBlock);
}

}  // namespace traingraph
