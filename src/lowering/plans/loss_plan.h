// SPDX-License-Identifier: MIT
// A loss is a list of element losses, each times its weight, then reduced;
// LossPlan says how many there are, how they lie and which of them are summed
// by themselves. The cut depends on shapes only, never on threads.
#pragma once

#include <cstdint>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Element losses per partial sum of element-wise losses.
inline constexpr std::int64_t kLossBlock = 2048;
/// Positions of a sample that class losses handle side by side.
inline constexpr std::int64_t kLossColumns = 64;

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

}  // namespace traingraph
