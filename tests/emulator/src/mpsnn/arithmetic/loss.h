// SPDX-License-Identifier: MIT
// Losses: of one element (softmax: of one pixel), their reductions, and their
// gradients, which no reduction divides.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// The order is that of MPSCNNLossType.
enum class LossType {
  kMeanAbsoluteError,
  kMeanSquaredError,
  kSoftMaxCrossEntropy,
  kSigmoidCrossEntropy,
  kCategoricalCrossEntropy,
  kHinge,
  kHuber,
  kCosineDistance,
  kLog,
  kKullbackLeiblerDivergence,
};

/// The order is that of MPSCNNReductionType.
enum class LossReduction { kNone, kSum, kMean, kSumByNonZeroWeights };

struct Loss {
  LossType type = LossType::kMeanAbsoluteError;
  LossReduction reduction = LossReduction::kNone;
  bool reduces_across_batch = false;
  double weight = 1, label_smoothing = 0, epsilon = 1e-7, delta = 1;
  std::int64_t num_classes = 1;
};

/// One image. `weights` may be null; they and the loss's weight both count.
struct LossImages {
  const Picture* predictions = nullptr;
  const Picture* labels = nullptr;
  const Picture* weights = nullptr;
};

/// The loss of every element, weighted.
Picture element_losses(const Loss& loss, const LossImages& images);

/// A reduced loss is total / divisor. Those of several images add up.
struct ReducedLoss {
  double total = 0, divisor = 0;

  double value() const { return divisor == 0 ? 0 : total / divisor; }
};
ReducedLoss reduced_loss(const Loss& loss, const LossImages& images);

/// Derivatives of the unreduced loss: of element_losses, summed.
Picture prediction_gradient(const Loss& loss, const LossImages& images);
Picture label_gradient(const Loss& loss, const LossImages& images);

}  // namespace emulator::mpsnn
