// SPDX-License-Identifier: MIT
// Reductions along axes, and what is computed along one line of elements:
// softmax and its cross entropy.
#pragma once

#include "../array.h"

namespace emulator {

enum class Reduction {
  kSum,
  kProduct,
  kMean,
  kMaximum,  // ignores NaN, as kMinimum does
  kMinimum,
  kMaximumPropagateNaN,
  kMinimumPropagateNaN,
  kAnd,
  kOr,
};

/// The result keeps the reduced axes with length 1. With more than four
/// dimensions only the last four can be reduced; others give garbage, as on
/// several systems.
Kernel reduce(Reduction reduction, Dims axes);

/// Index of the first largest (or smallest) element along an axis.
Kernel arg_reduce(bool is_maximum, std::size_t axis);

/// Mean of squared distances from the mean, which is the second input if there
/// is one.
Kernel variance(Dims axes);

Kernel softmax(std::size_t axis);
/// Inputs: incoming gradient, source of the softmax.
Kernel softmax_gradient(std::size_t axis);

/// Inputs: source, labels. The sum over `axis` of -labels * ln(softmax), either
/// one per line or all added up and multiplied by `factor`.
Kernel softmax_cross_entropy(std::size_t axis, bool reduces, double factor);
/// Inputs: incoming gradient, source, labels.
Kernel softmax_cross_entropy_gradient(std::size_t axis, double factor);

}  // namespace emulator
