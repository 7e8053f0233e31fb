// SPDX-License-Identifier: MIT
// The functions that the general loops compute by the C library's, one float
// after the other, in forms that vectorise.
#include "cpu/engine/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu/fusion.h"
#include "cpu/ops/elementwise_functions.h"
#include "cpu/ops/elementwise_lowering.h"

namespace traingraph::cpu {
namespace {

using namespace functions;
using enum ActivationType;

constexpr float kHalfRoot = static_cast<float>(1 / std::numbers::sqrt2);

/// 1 - erf x, to some units in the last place of 1 or of itself, whichever is
/// larger.
float exact_erfc(float x) {
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
    return std::max(x, kGeluEnd) * 0.5f * exact_erfc(-x * kHalfRoot);
  }
  float slope(float x) const {
    constexpr float kDensity = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    x = clamp(x, kGeluEnd, -kGeluEnd);
    return 0.5f * exact_erfc(-x * kHalfRoot) +
           x * kDensity * fast_exp(-0.5f * x * x);
  }
};

/// Calls use(function) where there is one.
template <class Use>
bool with_function(const ActivationAttrs& attrs, Use use) {
  switch (attrs.type) {
    case GELU:
      use(ExactGelu{});
      return true;
    case GELUTanh:
      use(StoredGeluTanh{});
      return true;
    case Tanh:
      use(StoredTanh{{attrs.a, attrs.b}});
      return true;
    default:
      return false;
  }
}

}  // namespace

bool lower_engine_activation(NodeLowering& lowering) {
  return with_function(lowering.attrs<ActivationAttrs>(), [&](auto function) {
    lower_map(lowering, kCostlyGrain,
              [function](float x) { return function.value(x); });
  });
}

bool lower_engine_activation_gradient(NodeLowering& lowering) {
  if (lowering.reads_activated(1)) return false;
  return with_function(lowering.attrs<ActivationAttrs>(), [&](auto function) {
    const Layout layout = common_layout(lowering, 1, 0, /*keeps_zero=*/true);
    lower_zip(lowering, kCostlyGrain, layout,
              [function](float gradient, float x) {
                return gradient * function.slope(x);
              });
  });
}

bool lower_engine_tanh(NodeLowering& lowering) {
  lower_map(lowering, kCostlyGrain, [](float x) { return fast_tanh(x); });
  return true;
}

}  // namespace traingraph::cpu
