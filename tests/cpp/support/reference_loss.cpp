// SPDX-License-Identifier: MIT
// Reference of the loss family.
#include <cmath>
#include <limits>
#include <vector>

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
    case LossType::KullbackLeiblerDivergence:
      return t == 0 ? 0 : t * (std::log(t) - y);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

/// Are the shapes the same but for axes of size 1 behind the first?
bool is_same_but_for_ones(const Shape& x, const Shape& y) {
  const auto longer = [](const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis == 0 || shape[axis] != 1) sizes.push_back(shape[axis]);
    }
    return sizes;
  };
  return longer(x) == longer(y);
}

/// Labels of one class each have fewer elements than the prediction; cases have
/// more than one class.
bool are_names(const LossAttrs& attrs, const RefTensor& prediction,
               const RefTensor& labels) {
  return is_over_classes(attrs.type) &&
         labels.data.size() < prediction.data.size();
}

/// One label for each element of the prediction: 1 for a class that is named.
RefTensor labels_of(const LossAttrs& attrs, const RefTensor& prediction,
                    const RefTensor& labels) {
  if (!are_names(attrs, prediction, labels)) {
    if (!is_same_but_for_ones(labels.shape, prediction.shape)) {
      return expand(labels, prediction.shape);
    }
    return {prediction.shape, labels.data};
  }
  RefTensor shares = zeros(prediction.shape);
  const RefTensor names{loss_position(attrs.type, prediction.shape),
                        labels.data};
  for_each_position(names.shape, [&](const Shape& at) {
    Shape place = {at[0], static_cast<std::int64_t>(names(at))};
    for (int axis = 1; axis < at.rank(); ++axis) place.push_back(at[axis]);
    if (names(at) != static_cast<double>(attrs.ignore_index)) shares(place) = 1;
  });
  return shares;
}

double class_weight(const RefTensor& weights, const Shape& at) {
  return weights.is_present() ? weights.data.at(at[1]) : 1;
}

/// The losses before weights and reduction. Where no class is named there is
/// none.
RefTensor losses_of(const LossAttrs& attrs, const RefTensor& prediction,
                    const RefTensor& given, const RefTensor& class_weights) {
  const RefTensor labels = labels_of(attrs, prediction, given);
  const bool by_name = are_names(attrs, prediction, given);
  RefTensor counts = zeros(loss_position(attrs.type, prediction.shape));
  for_each_position(prediction.shape, [&](const Shape& at) {
    counts(loss_position(attrs.type, at)) += labels(at);
  });
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
      if (by_name && counts(loss_position(type, at)) == 0) return;
      loss -= class_weight(class_weights, at) *
              (t * (1 - smoothing) + smoothing / num_classes) *
              log_prediction(at);
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
  RefTensor losses = losses_of(attrs, prediction, in[1], in[3]);
  const RefTensor weights =
      weights_of(attrs.type, in[2], prediction.shape, losses.shape);
  double sum = 0;
  for (std::size_t i = 0; i < losses.data.size(); ++i) {
    losses.data[i] *= attrs.weight * weights.data[i];
    sum += losses.data[i];
  }
  if (attrs.reduction == ReductionType::None) return {losses};
  if (attrs.reduction != ReductionType::Mean) return {filled({1}, sum)};
  auto divisor = static_cast<double>(losses.data.size());
  if (are_names(attrs, prediction, in[1])) {
    divisor = 0;
    const RefTensor labels = labels_of(attrs, prediction, in[1]);
    for_each_position(labels.shape, [&](const Shape& at) {
      divisor += labels(at) * class_weight(in[3], at);
    });
  }
  return {filled({1}, sum / divisor)};
}

RefTensors reference_loss_gradient(const LossAttrs& attrs, RefTensors& in) {
  return {numerical_gradient(OpKind::Loss, attrs, {in[1], in[2], in[3], in[4]},
                             0, in[0])};
}

}  // namespace traingraph::testing
