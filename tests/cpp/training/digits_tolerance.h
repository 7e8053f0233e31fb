// SPDX-License-Identifier: MIT
// How far two devices may come apart while they train the digits network from
// the same parameters, step by step: derived, not fitted to what some machine
// does. They differ in the order of sums and in nothing else.
#pragma once

#include <cmath>

#include "training/digits_net.h"

namespace traingraph::testing {

// A float32 sum of n terms of random sign is off by about sqrt(n) u / 4 of its
// size, u = 2^-24: each of n partial sums is rounded by u / sqrt(3) of itself
// at most, and most are smaller than the last. From an image to the gradient of
// a parameter lie sums over 9, 288, 256 and 128 terms (the layers), twice that
// on the way back, and four each over the 1,024 and the 256 values of a channel
// (the norms): N = 7,200 terms in all, on each of two devices.
const double kRounding = std::sqrt(2 * 7200.0) * 0x1p-24 / 4;  // 1.8e-6

// Weights are about 1/16 in size: one over the root of 256 sources. Where they
// are d apart in four layers, activations are by sqrt(4) 16 d of their size,
// and gradients, which pass the layers twice, by twice that.
constexpr double kForwardGrowth = 32, kGradientGrowth = 64;

/// The error after steps that each add `each` at random to what is there, and
/// change it by the rate times the change of gradients.
inline double grown(double each, int step) {
  const double growth = 1 + kRate * kGradientGrowth;
  double squares = 0;
  for (int i = 0; i < step; ++i) {
    squares *= growth * growth;
    squares += each * each;
  }
  return std::sqrt(squares);
}

/// The tolerance of parameters. Adam's step is the rate times a gradient over
/// its size: the median one is off by the rate times kRounding, and the new
/// parameter is rounded by at most 2^-28, half a unit in the last place of 1/16
/// to 1/8. Three times their root mean square.
inline double median_tolerance(int step) {
  return grown(3 * std::hypot(kRate * kRounding, 0x1p-28), step);
}

/// The tolerance of the root mean square over all parameters, where the few
/// count that are hit hard. While Adam's second moment is that of the first
/// gradients, a gradient near zero makes a whole step: a share of kRounding is
/// so small that rounding decides about its sign, for (2 rates)^2 / pi in the
/// mean square. Of the arguments of each of four layers that choose, ReLUs and
/// maxima, a share of kRounding changes sides and takes a path of the gradient
/// along. Together (2 + 4) kRounding rates^2 per step.
inline double root_mean_square_tolerance(int step) {
  return grown(3 * kRate * std::sqrt(6 * kRounding), step);
}

/// The tolerance of any parameter, whatever the gradients: in its first fifty
/// steps Adam moves it by less than 1.7 rates at a time, as Cauchy and Schwarz
/// say of the weights of its two moments. Nothing less holds for a bias before
/// a batch normalization: its gradient is rounding, which Adam blows up.
inline double adam_bound(int step) { return 2 * 1.7 * kRate * step; }

/// The tolerance of the loss, when parameters were `apart` (root mean square):
/// three standard deviations of the mean over a batch, with logits of up to 4.
inline double loss_tolerance(double apart) {
  return 3 * (kRounding + kForwardGrowth * apart) * 4 / std::sqrt(kBatch);
}

/// The tolerance of running variances, squares of up to 1.
inline double variance_tolerance(double apart) {
  return 3 * 2 * (kRounding + kForwardGrowth * apart);
}

}  // namespace traingraph::testing
