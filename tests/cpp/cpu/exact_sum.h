// SPDX-License-Identifier: MIT
// How far a sum of floats may be off: twice what adding in pairs loses, and
// what the rounding of its terms explains.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "cpu/kernel_case.h"

namespace traingraph::testing {

inline constexpr double kEpsilon = 1.2e-7;  // of float32

using Doubles = std::vector<double>;

/// How one adds in float32 without losing much.
inline float pairwise_sum(const float* x, std::size_t n) {
  if (n > 128) {
    const std::size_t half = n / 2;
    return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
  }
  float lanes[8] = {};
  for (std::size_t i = 0; i < n; ++i) lanes[i % 8] += x[i];
  float sum = 0;
  for (float lane : lanes) sum += lane;
  return sum;
}

struct Sum {
  double exact = 0, magnitude = 0, pairwise = 0;
  std::size_t n;

  /// The sum of float32 terms, and of the same in double.
  Sum(const Floats& terms, const Doubles& exact_terms) : n(terms.size()) {
    for (double term : exact_terms) {
      exact += term;
      magnitude += std::abs(term);
    }
    pairwise = pairwise_sum(terms.data(), terms.size());
  }
  double allowed() const {
    const double rounding = magnitude / std::sqrt(static_cast<double>(n));
    return 2 * std::abs(pairwise - exact) +
           kEpsilon * (std::abs(exact) + 2 * rounding);
  }
};

}  // namespace traingraph::testing
