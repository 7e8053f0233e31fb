// SPDX-License-Identifier: MIT
// Logarithms of sums over paths, of connectionist temporal classification.
#pragma once

#include "formulas/fast_math.h"
#include "formulas/portable.h"

namespace traingraph {
namespace formulas {
namespace ctc {

/// The logarithm of 0, finite so that differences are numbers.
constexpr float none() { return -1e30f; }

inline bool is_none(float x) { return x < none() / 2; }

/// NaN passes.
inline float at_least_none(float x) { return x < none() ? none() : x; }

/// ln(e^a + e^b)
inline float log_add(float a, float b) {
  const float top = a > b ? a : b, other = a > b ? b : a;
  return top + fast_log1p_unit(fast_exp(other - top));
}

/// Of the paths that are in a state: they were there, in the state before, or
/// jumped from the one before that (0; else none()).
inline float one_step(float stayed, float before, float behind, float jump,
                      float log_probability) {
  const float sum = log_add(log_add(stayed, before), behind + jump);
  return at_least_none(sum + log_probability);
}

}  // namespace ctc
}  // namespace formulas
}  // namespace traingraph
