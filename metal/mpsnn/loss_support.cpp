// SPDX-License-Identifier: MIT
// Losses: MPSNN's formulas against those of traingraph/losses.h.
#include "metal/assumptions.h"
#include "metal/mpsnn/support.h"

namespace traingraph::metal {
namespace {

bool sums_over_channels(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ||
         type == LossType::CategoricalCrossEntropy ||
         type == LossType::CosineDistance;
}

/// The reason is empty where a printed formula and its derivative are ours.
std::string reason_of_formula(const FilterView& view, LossType type) {
  if (view.limits.trusts_misprinted_filters) return {};
  switch (type) {
    case LossType::SoftmaxCrossEntropy:
      return kImageSoftmaxLossIsExact
                 ? ""
                 : "the gradient of MPSNN's softmax cross entropy is not known";
    case LossType::Hinge:
      return "MPSNN's hinge loss and its gradient belong to different labels";
    case LossType::Huber:
    case LossType::KullbackLeiblerDivergence:
    case LossType::MeanAbsoluteError:
      return "the gradient printed for this loss of MPSNN is not that of its "
             "formula";
    default:
      return {};
  }
}

bool is_known(LossType type) {
  switch (type) {
    case LossType::MeanAbsoluteError:
    case LossType::MeanSquaredError:
    case LossType::SoftmaxCrossEntropy:
    case LossType::SigmoidCrossEntropy:
    case LossType::CategoricalCrossEntropy:
    case LossType::Hinge:
    case LossType::Huber:
    case LossType::CosineDistance:
    case LossType::Log:
    case LossType::KullbackLeiblerDivergence:
      return true;
    default:
      return false;
  }
}

/// Judges a loss whose gradient is a filter of its own, which is given that of
/// the loss.
std::string reason_of_forward(const FilterView& view,
                              const nodes::LossDescriptor& d) {
  if (view.has_gradient && !kImageLossGradientIsChained) {
    return "whether MPSNN's gradient of a separate loss is multiplied by the "
           "one that it is given is not known";
  }
  const bool divides =
      d.reduction == ReductionType::Mean && d.type != LossType::CosineDistance;
  if (view.has_gradient && divides) {
    return "whether MPSNN's gradient of a mean of losses is divided as the "
           "mean is, is not documented";
  }
  if (view.has_label_gradient && !view.limits.trusts_misprinted_filters) {
    return "the formulas of MPSNN's gradients by labels are not documented";
  }
  return {};
}

}  // namespace

std::string reason_of_loss(const FilterView& view, const LossFilter& loss) {
  const auto& d = loss.descriptor;
  if (!is_known(d.type)) return "MPSNN has no such loss";
  if (d.reduce_across_batch || d.divides_by_non_zero_weights) {
    return "MPSNN's losses of whole batches and by weights that are not 0 are "
           "images of another form";
  }
  const bool sums = sums_over_channels(d.type);
  const bool is_none = d.reduction == ReductionType::None;
  if (d.type == LossType::CategoricalCrossEntropy) {
    if (d.reduction == ReductionType::Mean) {
      return "MPSNN's mean of this loss divides by channels as well";
    }
    if (d.label_smoothing != 0) return "MPSNN does not smooth these labels";
  }
  if (is_none && sums && d.type != LossType::CosineDistance) {
    return "the size of this loss of MPSNN without a reduction is not "
           "documented";
  }
  if (view.filter.sources.size() > 2) {
    if (sums) return "how MPSNN weighs the channels of this loss is not known";
    if (view.source(2) != view.source()) {
      return "MPSNN's weights have the size of the prediction";
    }
  }
  std::string reason;
  if (!loss.returns_gradient) reason = reason_of_forward(view, d);
  return reason.empty() ? reason_of_formula(view, d.type) : reason;
}

}  // namespace traingraph::metal
