// SPDX-License-Identifier: MIT
// GELU in a form that vectorises, for float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu/vector_math.h"
#include "formulas/activation.h"

namespace traingraph::cpu {

inline constexpr float kHalfRoot = static_cast<float>(1 / std::numbers::sqrt2);

/// 1 - erf x, to some units in the last place of 1 or of itself, whichever is
/// larger.
inline float exact_erfc(float x) {
  const float t = std::fabs(x), s = x * x;
  // erf t = 1 - e^P(t): a fit for t > 0.93.
  float p = -1.72853470e-5f * t + 3.83197126e-4f;
  p = p * s + (-3.88396438e-3f * t + 2.42546219e-2f);
  p = p * t - 1.06777877e-1f;
  p = p * t - 6.34846687e-1f;
  p = p * t - 1.28717512e-1f;
  const float tail = fast_exp(p * t - t);
  const float far = x < 0 ? 2 - tail : tail;
  // erf x = x (1 + Q(x^2)) below.
  float q = -5.96761703e-4f;
  q = q * s + 4.99119423e-3f;
  q = q * s - 2.67681349e-2f;
  q = q * s + 1.12819925e-1f;
  q = q * s - 3.76125336e-1f;
  q = q * s + 1.28379166e-1f;
  const float near = 1 - (q * x + x);
  return t > 0.927734375f ? far : near;
}

struct ExactGelu {
  float value(float x) const {
    return std::max(x, formulas::functions::gelu_end()) * 0.5f *
           exact_erfc(-x * kHalfRoot);
  }
  float slope(float x) const {
    constexpr float kDensity = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    const float kEnd = formulas::functions::gelu_end();
    x = formulas::functions::clamp(x, kEnd, -kEnd);
    return 0.5f * exact_erfc(-x * kHalfRoot) +
           x * kDensity * fast_exp(-0.5f * x * x);
  }
};

}  // namespace traingraph::cpu
