// SPDX-License-Identifier: MIT
// Softmax cross-entropy of one class of a position, given the largest score y
// of the position and the sum of exponentials relative to it. Sums over classes
// are in double.
#pragma once

#include "formulas/fast_math.h"
#include "formulas/portable.h"

namespace traingraph {
namespace formulas {

#if !defined(__METAL_VERSION__)  // it has no double
/// What the class adds to the logarithm of the labels' likelihood; log_sum is
/// the logarithm of the sum of exponentials. A class without label adds
/// nothing, even when its score is -inf.
inline double log_likelihood(float y, double label, float largest,
                             double log_sum) {
  const double likelihood =
      label * ((static_cast<double>(y) - largest) - log_sum);
  return label == 0 ? 0 : likelihood;
}
#endif

/// The derivative of the loss by y; `factor` is the sum of labels by that of
/// exponentials.
inline float softmax_slope(float y, float label, float largest, float factor) {
  return fast_exp(y - largest) * factor - label;
}

}  // namespace formulas
}  // namespace traingraph
