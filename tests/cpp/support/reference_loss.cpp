// SPDX-License-Identifier: MIT
// Reference of the loss family.
#include <cmath>
#include <limits>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

bool is_over_classes(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ||
         type == LossType::CategoricalCrossEntropy;
}

/// The loss that a prediction at `at` adds to: the class axis or all axes but
/// the batch vanish.
Shape loss_position(LossType type, const Shape& at) {
  if (type == LossType::CosineDistance) return {at[0]};
  if (!is_over_classes(type)) return at;
  Shape position;
  for (int axis = 0; axis < at.rank(); ++axis) {
    if (axis != 1) position.push_back(at[axis]);
  }
  return position;
}

double element_loss(const LossAttrs& attrs, double y, double t) {
  const double smoothing = attrs.label_smoothing;
  switch (attrs.type) {
    case LossType::MeanAbsoluteError:
      return std::abs(y - t);
    case LossType::MeanSquaredError:
      return (y - t) * (y - t);
    case LossType::SigmoidCrossEntropy:
      return std::fmax(y, 0) - y * (t * (1 - smoothing) + smoothing / 2) +
             std::log1p(std::exp(-std::abs(y)));
    case LossType::Hinge:
      return std::fmax(0, 1 - (2 * t - 1) * y);
    case LossType::Huber: {
      const double delta = attrs.delta;
      const double e = std::abs(y - t);
      return e <= delta ? 0.5 * e * e : delta * (e - 0.5 * delta);
    }
    case LossType::Log:
      return (t == 0 ? 0 : -t * std::log(y + attrs.epsilon)) -
             (t == 1 ? 0 : (1 - t) * std::log(1 - y + attrs.epsilon));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

/// The losses before weights and reduction.
RefTensor losses_of(const LossAttrs& attrs, const RefTensor& prediction,
                    const RefTensor& labels) {
  const LossType type = attrs.type;
  RefTensor losses = zeros(loss_position(type, prediction.shape));
  if (type == LossType::CosineDistance) losses = filled(losses.shape, 1);
  RefTensor log_prediction = prediction;
  double smoothing = 0;
  double num_classes = 1;
  if (is_over_classes(type)) {
    smoothing = attrs.label_smoothing;
    num_classes = static_cast<double>(
        attrs.class_count > 1 ? attrs.class_count : prediction.shape[1]);
    RefTensors in{prediction};
    if (type == LossType::SoftmaxCrossEntropy) {
      const SoftmaxAttrs softmax{SoftmaxOperation::LogSoftmax, 1};
      log_prediction = reference_softmax(softmax, in).at(0);
    } else {
      for (double& y : log_prediction.data) y = std::log(y);
    }
  }
  for_each_position(prediction.shape, [&](const Shape& at) {
    double& loss = losses(loss_position(type, at));
    const double t = labels(at);
    if (is_over_classes(type)) {
      loss -=
          (t * (1 - smoothing) + smoothing / num_classes) * log_prediction(at);
    } else if (type == LossType::CosineDistance) {
      loss -= prediction(at) * t;
    } else {
      loss = element_loss(attrs, prediction(at), t);
    }
  });
  return losses;
}

bool repeats_to(const Shape& shape, const Shape& target) {
  if (shape.rank() > target.rank()) return false;
  for (int axis = 1; axis <= shape.rank(); ++axis) {
    const std::int64_t size = shape[shape.rank() - axis];
    if (size != 1 && size != target[target.rank() - axis]) return false;
  }
  return true;
}

/// One weight per loss.
RefTensor weights_of(LossType type, const RefTensor& weights,
                     const Shape& prediction, const Shape& losses) {
  if (!weights.is_present()) return filled(losses, 1);
  if (repeats_to(weights.shape, losses)) return expand(weights, losses);
  const bool has_axes_of_prediction =
      weights.shape.rank() == prediction.rank() && weights.shape[1] == 1;
  RefTensor dropped = weights;
  if (has_axes_of_prediction) {
    dropped.shape = loss_position(type, weights.shape);
  }
  if (has_axes_of_prediction && repeats_to(dropped.shape, losses) &&
      dropped.shape.num_elements() == weights.shape.num_elements()) {
    return expand(dropped, losses);
  }
  RefTensor result = zeros(losses);
  for_each_position(losses, [&](const Shape& at) {
    result(at) = weights.data.at(static_cast<std::size_t>(at[0]));
  });
  return result;
}

}  // namespace

RefTensors reference_loss(const LossAttrs& attrs, RefTensors& in) {
  const RefTensor& prediction = in[0];
  RefTensor losses = losses_of(attrs, prediction, in[1]);
  const RefTensor weights =
      weights_of(attrs.type, in[2], prediction.shape, losses.shape);
  double sum = 0;
  for (std::size_t i = 0; i < losses.data.size(); ++i) {
    losses.data[i] *= attrs.weight * weights.data[i];
    sum += losses.data[i];
  }
  if (attrs.reduction == ReductionType::None) return {losses};
  if (attrs.reduction == ReductionType::Mean) {
    sum /= static_cast<double>(losses.data.size());
  }
  return {filled({1}, sum)};
}

RefTensors reference_loss_gradient(const LossAttrs& attrs, RefTensors& in) {
  return {
      numerical_gradient(OpKind::Loss, attrs, {in[1], in[2], in[3]}, 0, in[0])};
}

}  // namespace traingraph::testing
