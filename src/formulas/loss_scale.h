// SPDX-License-Identifier: MIT
// The factor of a loss whose gradients are in float16, and what updates that
// were left out because of it do to Adam's rate.
#pragma once

#include "formulas/portable.h"
#include "formulas/run_time_scalars.h"

namespace traingraph {
namespace formulas {

/// What an update leaves of it: doubled, up to 2^24, after `interval` updates
/// in a row with finite gradients; halved, down to 2^-24, after one without.
/// In floats, or in nodes of a graph that is being built (Bool, too).
template <class Float, class Bool>
LossScaleOf<Float> next_loss_scale(LossScaleOf<Float> now, Bool is_finite,
                                   float interval) {
  const float most = 16777216;  // 2^24
  const Float counted = now.growth_counter + 1.0f;
  const Bool grows = counted >= interval;
  const Float grown =
      choose(grows, minimum(now.factor * 2.0f, Float(most)), now.factor);
  const Float halved = maximum(now.factor * 0.5f, Float(1 / most));
  now.factor = choose(is_finite, grown, halved);
  now.growth_counter =
      choose(is_finite, choose(grows, Float(0), counted), Float(0));
  now.skipped_steps =
      choose(is_finite, now.skipped_steps, now.skipped_steps + 1.0f);
  return now;
}

#if !defined(__METAL_VERSION__)  // it has no double
/// The rate of update number `step` where Adam's averages began at 0.
inline double corrected_rate(double rate, double beta1, double beta2,
                             double step) {
  return rate * sqrt(1 - pow(beta2, step)) / (1 - pow(beta1, step));
}
#endif

}  // namespace formulas
}  // namespace traingraph
