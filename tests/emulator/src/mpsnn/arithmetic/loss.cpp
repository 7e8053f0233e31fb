// SPDX-License-Identifier: MIT
#include "loss.h"

#include <algorithm>
#include <cmath>

#include "picture.h"
#include "softmax.h"

namespace emulator::mpsnn {
namespace {

double sign(double x) { return double(x > 0) - double(x < 0); }

double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

bool smooths(const Loss& loss) {
  return loss.label_smoothing > 0 &&
         (loss.type == LossType::kSoftMaxCrossEntropy ||
          loss.type == LossType::kSigmoidCrossEntropy);
}

double smoothed(const Loss& loss, double t) {
  if (!smooths(loss)) return t;
  const double s = loss.label_smoothing;
  const double share = loss.type == LossType::kSigmoidCrossEntropy
                           ? 2
                           : static_cast<double>(loss.num_classes);
  return t * (1 - s) + s / share;
}

/// What one element knows. `log_sum` is that of its pixel's predictions.
struct Element {
  double y, t, w, log_sum;
};

Element element_at(const Loss& loss, const LossImages& images, std::int64_t c,
                   std::int64_t y, std::int64_t x) {
  Element e{images.predictions->at(c, y, x),
            smoothed(loss, images.labels->at(c, y, x)), loss.weight, 0};
  if (images.weights) e.w *= images.weights->at(c, y, x);
  if (loss.type == LossType::kSoftMaxCrossEntropy) {
    e.log_sum = log_sum_exp(*images.predictions, y, x);
  }
  return e;
}

double value(const Loss& loss, const Element& e) {
  const double y = e.y, t = e.t, error = std::abs(y - t);
  switch (loss.type) {
    case LossType::kMeanAbsoluteError:
      return error;
    case LossType::kMeanSquaredError:
      return error * error;
    case LossType::kSoftMaxCrossEntropy:
      return -t * (y - e.log_sum);
    case LossType::kSigmoidCrossEntropy:
      return std::max(y, 0.0) - y * t + std::log1p(std::exp(-std::abs(y)));
    case LossType::kCategoricalCrossEntropy:
      return t == 0 ? 0 : -t * std::log(y);
    case LossType::kHinge:
      // Apple's text prints t * y, which does not fit labels of 0 and 1, nor
      // the gradient beside it.
      return std::max(1 - (2 * t - 1) * y, 0.0);
    case LossType::kHuber:
      // Apple's text prints y * y for the inner part.
      return error <= loss.delta ? error * error / 2
                                 : loss.delta * loss.delta / 2 +
                                       loss.delta * (error - loss.delta);
    case LossType::kCosineDistance:
      return -y * t;
    case LossType::kLog:
      return -t * std::log(y + loss.epsilon) -
             (1 - t) * std::log(1 - y + loss.epsilon);
    case LossType::kKullbackLeiblerDivergence:
      return t == 0 ? 0 : t * (std::log(t) - y);
  }
  return 0;
}

/// The derivative by the prediction, but for the softmax, whose elements depend
/// on each other.
double by_prediction(const Loss& loss, const Element& e) {
  const double y = e.y, t = e.t, epsilon = loss.epsilon;
  switch (loss.type) {
    case LossType::kMeanAbsoluteError:
      return sign(y - t);
    case LossType::kMeanSquaredError:
      return 2 * (y - t);
    case LossType::kSoftMaxCrossEntropy:
      return 0;
    case LossType::kSigmoidCrossEntropy:
      return sigmoid(y) - t;
    case LossType::kCategoricalCrossEntropy:
      return -t / y;
    case LossType::kHinge:
      return 1 + (1 - 2 * t) * y > 0 ? 1 - 2 * t : 0;
    case LossType::kHuber:
      return std::clamp(y - t, -loss.delta, loss.delta);
    case LossType::kCosineDistance:
      return -t;
    case LossType::kLog:
      return (-2 * epsilon * t - t + y + epsilon) /
             (y * (1 - y) + epsilon * (epsilon + 1));
    case LossType::kKullbackLeiblerDivergence:
      return -t;  // predictions are logarithms: no division by them
  }
  return 0;
}

double by_label(const Loss& loss, const Element& e) {
  const double y = e.y, t = e.t;
  switch (loss.type) {
    case LossType::kMeanAbsoluteError:
      return -sign(y - t);
    case LossType::kMeanSquaredError:
      return -2 * (y - t);
    case LossType::kSoftMaxCrossEntropy:
      return -(y - e.log_sum);
    case LossType::kSigmoidCrossEntropy:
      return -y;
    case LossType::kCategoricalCrossEntropy:
      return -std::log(y);
    case LossType::kHinge:
      return 1 + (1 - 2 * t) * y > 0 ? -2 * y : 0;
    case LossType::kHuber:
      return -std::clamp(y - t, -loss.delta, loss.delta);
    case LossType::kCosineDistance:
      return -y;
    case LossType::kLog:
      return std::log(1 - y + loss.epsilon) - std::log(y + loss.epsilon);
    case LossType::kKullbackLeiblerDivergence:
      return std::log(t) + 1 - y;
  }
  return 0;
}

/// The sum of weight * label over the pixel, for the softmax.
double label_mass(const Loss& loss, const LossImages& images, std::int64_t y,
                  std::int64_t x) {
  double sum = 0;
  for (std::int64_t c = 0; c < images.labels->extent.channels; ++c) {
    const Element e = element_at(loss, images, c, y, x);
    sum += e.w * e.t;
  }
  return sum;
}

double count_of_non_zero_weights(const Loss& loss, const LossImages& images) {
  double count = 0;
  for_each(images.predictions->extent, [&](auto c, auto y, auto x) {
    if (element_at(loss, images, c, y, x).w != 0) ++count;
  });
  return count;
}

}  // namespace

Picture element_losses(const Loss& loss, const LossImages& images) {
  return picture_of(images.predictions->extent, [&](auto c, auto y, auto x) {
    const Element e = element_at(loss, images, c, y, x);
    return e.w == 0 ? 0 : e.w * value(loss, e);
  });
}

ReducedLoss reduced_loss(const Loss& loss, const LossImages& images) {
  const Extent& extent = images.predictions->extent;
  ReducedLoss reduced{0, 1};
  for_each(extent, [&](auto c, auto y, auto x) {
    const Element e = element_at(loss, images, c, y, x);
    if (e.w != 0) reduced.total += e.w * value(loss, e);
  });
  if (loss.type == LossType::kCosineDistance) reduced.total += loss.weight;
  if (loss.reduction == LossReduction::kMean) {
    const bool is_per_pixel = loss.type == LossType::kSoftMaxCrossEntropy;
    reduced.divisor = static_cast<double>(
        is_per_pixel ? extent.height * extent.width : extent.count());
  }
  if (loss.reduction == LossReduction::kSumByNonZeroWeights) {
    reduced.divisor = count_of_non_zero_weights(loss, images);
  }
  return reduced;
}

Picture prediction_gradient(const Loss& loss, const LossImages& images) {
  const bool is_softmax = loss.type == LossType::kSoftMaxCrossEntropy;
  return picture_of(images.predictions->extent, [&](auto c, auto y, auto x) {
    const Element e = element_at(loss, images, c, y, x);
    // Apple's text prints y - t, as if y were the softmax already and labels
    // added up to one.
    if (is_softmax) {
      return std::exp(e.y - e.log_sum) * label_mass(loss, images, y, x) -
             e.w * e.t;
    }
    return e.w == 0 ? 0 : e.w * by_prediction(loss, e);
  });
}

Picture label_gradient(const Loss& loss, const LossImages& images) {
  const double share = smooths(loss) ? 1 - loss.label_smoothing : 1;
  return picture_of(images.labels->extent, [&](auto c, auto y, auto x) {
    const Element e = element_at(loss, images, c, y, x);
    return e.w == 0 ? 0 : e.w * share * by_label(loss, e);
  });
}

}  // namespace emulator::mpsnn
