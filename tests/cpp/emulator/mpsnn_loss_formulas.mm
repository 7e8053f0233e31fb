// SPDX-License-Identifier: MIT
#import "mpsnn_loss_formulas.h"

#include <algorithm>
#include <cmath>

namespace {

/// The loss of one element; softmax takes the logarithm instead of y.
double element_loss(const LossSetting& s, double y, double t) {
  const double error = y - t;
  switch (s.type) {
    case MPSCNNLossTypeMeanAbsoluteError:
      return std::abs(error);
    case MPSCNNLossTypeMeanSquaredError:
      return error * error;
    case MPSCNNLossTypeSoftMaxCrossEntropy:
      return -t * y;
    case MPSCNNLossTypeSigmoidCrossEntropy:
      return std::log(1 + std::exp(-y)) + (1 - t) * y;
    case MPSCNNLossTypeCategoricalCrossEntropy:
      return -t * std::log(y);
    case MPSCNNLossTypeHinge:
      return std::max(0.0, 1 - (2 * t - 1) * y);
    case MPSCNNLossTypeHuber:
      if (std::abs(error) <= s.delta) return error * error / 2;
      return s.delta * (std::abs(error) - s.delta / 2);
    case MPSCNNLossTypeCosineDistance:
      return -y * t;
    case MPSCNNLossTypeLog:
      return -t * std::log(y + s.epsilon) -
             (1 - t) * std::log(1 - y + s.epsilon);
    default:
      return t * (std::log(t) - y);
  }
}

double divisor(const LossSetting& s, const Tensors& sources) {
  const Extent e = sources[0].extent;
  const bool is_softmax = s.type == MPSCNNLossTypeSoftMaxCrossEntropy;
  if (s.reduction == MPSCNNReductionTypeMean) {
    return double(is_softmax ? e.height * e.width : e.count());
  }
  if (s.reduction != MPSCNNReductionTypeSumByNonZeroWeights) return 1;
  if (sources.size() < 3) return double(e.count());
  return double(e.count() - std::count(sources[2].data.begin(),
                                       sources[2].data.end(), 0.0));
}

}  // namespace

Tensor losses(const LossSetting& s, const Tensors& sources) {
  const Tensor &y = sources[0], &t = sources[1];
  const Extent e = y.extent;
  return tensor_of(e, [&](auto c, auto i, auto j) {
    double prediction = y.at(c, i, j), label = t.at(c, i, j);
    if (s.type == MPSCNNLossTypeSoftMaxCrossEntropy) {
      double sum = 0;
      for (std::int64_t k = 0; k < e.channels; ++k) {
        sum += std::exp(y.at(k, i, j));
      }
      prediction -= std::log(sum);
      label = label * (1 - s.smoothing) + s.smoothing / s.classes;
    }
    if (s.type == MPSCNNLossTypeSigmoidCrossEntropy) {
      label = label * (1 - s.smoothing) + s.smoothing / 2;
    }
    const double weight = sources.size() > 2 ? sources[2].at(c, i, j) : 1;
    return s.weight * weight * element_loss(s, prediction, label);
  });
}

double total(const Tensor& t) {
  double sum = 0;
  for (double x : t.data) sum += x;
  return sum;
}

Formula reduced(const LossSetting& s) {
  return [s](const Tensors& sources) {
    const Tensor all = losses(s, sources);
    if (s.reduction == MPSCNNReductionTypeNone) return all;
    double sum = total(all);
    if (s.type == MPSCNNLossTypeCosineDistance) sum += s.weight;
    return tensor_of(
        {1, 1, 1}, [&](auto, auto, auto) { return sum / divisor(s, sources); });
  };
}

Formula summed(LossSetting s) {
  if (s.reduction != MPSCNNReductionTypeNone) {
    s.reduction = MPSCNNReductionTypeSum;
  }
  return reduced(s);
}

MPSCNNLossDescriptor* descriptor(const LossSetting& s) {
  MPSCNNLossDescriptor* made =
      [MPSCNNLossDescriptor cnnLossDescriptorWithType:s.type
                                        reductionType:s.reduction];
  [made setWeight:float(s.weight)];
  [made setLabelSmoothing:float(s.smoothing)];
  [made setEpsilon:float(s.epsilon)];
  [made setDelta:float(s.delta)];
  [made setNumberOfClasses:s.classes];
  return made;
}
