// SPDX-License-Identifier: MIT
// The activation family and its gradients: oneDNN's eltwise where its formula
// is ours, which pays off for exponentials; else plain loops, because oneDNN
// has no such function or not with these parameters.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "cpu/fusion.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
namespace {

using enum ActivationType;

// std::min and std::max let loops vectorise, unlike fmin and fmax, and a NaN in
// the first argument wins.
float clamp(float x, float low, float high) {
  return std::min(std::max(x, low), high);
}
float sigmoid(float x) {
  const float e = fast_exp(-std::fabs(x));  // never overflows
  return (x >= 0 ? 1 : e) / (1 + e);
}
float softplus(float x) {
  return std::max(x, 0.0f) + fast_log1p_unit(fast_exp(-std::fabs(x)));
}

// Each: value(x), slope(x). At a kink the slope is PyTorch's.
struct Identity {
  float value(float x) const { return x; }
  float slope(float) const { return 1; }
};
struct Relu {
  float a;
  float value(float x) const { return leaky(x, a); }
  float slope(float x) const { return x > 0 ? 1 : a; }
};
struct LinearMap {
  float a, b;
  float value(float x) const { return a * x + b; }
  float slope(float) const { return a; }
};
struct HardSigmoidMap {
  float a, b;
  float value(float x) const { return clamp(a * x + b, 0, 1); }
  float slope(float x) const {
    const float y = a * x + b;
    return y > 0 && y < 1 ? a : 0;
  }
};
struct ScaledTanh {
  float a, b;
  float value(float x) const { return a * std::tanh(b * x); }
  float slope(float x) const {  // 1 - tanh^2 would cancel
    const float e = fast_exp(-2 * std::fabs(b * x)), d = 1 + e;
    return a * b * (4 * e / (d * d));
  }
};
struct SigmoidMap {
  float value(float x) const { return sigmoid(x); }
  float slope(float x) const {  // y (1 - y) would cancel
    const float e = fast_exp(-std::fabs(x)), d = 1 + e;
    return e / (d * d);
  }
};
struct AbsoluteValue {
  float value(float x) const { return std::fabs(x); }
  float slope(float x) const { return x > 0 ? 1 : x < 0 ? -1 : 0; }
};
struct ScaledSoftPlus {
  float a, b;
  float value(float x) const { return a * softplus(b * x); }
  float slope(float x) const { return a * b * sigmoid(b * x); }
};
struct SoftSignMap {
  float value(float x) const { return x / (1 + std::fabs(x)); }
  float slope(float x) const {
    const float d = 1 + std::fabs(x);
    return 1 / (d * d);
  }
};
struct ReluN {
  float a, b;
  float value(float x) const { return std::min(leaky(x, a), b); }
  float slope(float x) const {
    const float y = leaky(x, a);
    return y >= b ? 0 : x > 0 ? 1 : a;
  }
};
/// scale * (x or alpha * (e^(x / width) - 1)): ELU, SELU, CELU.
struct ScaledElu {
  float scale, alpha, width;
  float value(float x) const {
    const float negative = alpha * fast_expm1(x / width);
    return scale * (x > 0 ? x : negative);
  }
  float slope(float x) const {
    const float negative = alpha / width * fast_exp(x / width);
    return scale * (x > 0 ? 1 : negative);
  }
};
struct HardShrinkMap {
  float a;
  float value(float x) const { return std::fabs(x) > a ? x : 0; }
  float slope(float x) const { return std::fabs(x) > a ? 1 : 0; }
};
struct SoftShrinkMap {
  float a;
  float value(float x) const { return x > a ? x - a : x < -a ? x + a : 0; }
  float slope(float x) const { return x > a || x < -a ? 1 : 0; }
};
struct TanhShrinkMap {
  float value(float x) const {
    // Near 0 the difference cancels; its series does not.
    const float square = x * x;
    float p = 5.90027441e-4f;
    p = p * square - 1.45583439e-3f;
    p = p * square + 3.59212804e-3f;
    p = p * square - 8.86323553e-3f;
    p = p * square + 2.18694885e-2f;
    p = p * square - 5.39682540e-2f;
    p = p * square + 1.33333333e-1f;
    p = p * square - 3.33333333e-1f;
    const float series = -p * square * x;
    return square < 0.25f ? series : x - std::tanh(x);
  }
  float slope(float x) const {
    const float t = std::tanh(x);
    return t * t;
  }
};
struct ThresholdMap {
  float a, b;
  float value(float x) const { return x > a ? x : b; }
  float slope(float x) const { return x > a ? 1 : 0; }
};
struct HardSwishMap {
  float value(float x) const { return x * clamp(x + 3, 0, 6) / 6; }
  float slope(float x) const {
    return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
  }
};
/// Below this GELU is 0, also in the limit, where x * 0 would be NaN.
constexpr float kGeluEnd = -16;
struct GeluMap {
  float value(float x) const {
    constexpr float kScale = static_cast<float>(1 / std::numbers::sqrt2);
    return std::max(x, kGeluEnd) * 0.5f * std::erfc(-x * kScale);
  }
  float slope(float x) const {
    constexpr float kScale = static_cast<float>(1 / std::numbers::sqrt2);
    constexpr float kDensity = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    x = clamp(x, kGeluEnd, -kGeluEnd);
    return 0.5f * std::erfc(-x * kScale) +
           x * kDensity * fast_exp(-0.5f * x * x);
  }
};
struct GeluTanhMap {
  static constexpr float kScale = 0.7978845608028654f;  // sqrt(2 / pi)
  static constexpr float kCubic = kScale * 0.044715f;
  float value(float x) const {
    const float inner = x * (kScale + kCubic * x * x);
    return std::max(x, kGeluEnd) * 0.5f * (1 + std::tanh(inner));
  }
  float slope(float x) const {
    x = clamp(x, kGeluEnd, -kGeluEnd);
    const float square = x * x;
    const float t = std::tanh(x * (kScale + kCubic * square));
    return 0.5f * (1 + t) +
           0.5f * x * (1 - t * t) * (kScale + 3 * kCubic * square);
  }
};
/// Below this e^x is 0 in float32, and with it SiLU and Mish, also in the
/// limit, where x * 0 would be NaN.
constexpr float kSigmoidEnd = -104;
struct SiluMap {
  float value(float x) const { return std::max(x, kSigmoidEnd) * sigmoid(x); }
  float slope(float x) const {
    x = clamp(x, kSigmoidEnd, -kSigmoidEnd);
    // s (1 + x (1 - s)), with 1 - s as the other side's sigmoid.
    return sigmoid(x) * (1 + x * sigmoid(-x));
  }
};
struct MishMap {
  /// tanh(ln(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2).
  static float factor(float x) {
    const float e = fast_exp(std::min(x, 20.0f));  // 1 beyond
    const float n = e * (e + 2);
    return n / (n + 2);
  }
  float value(float x) const { return std::max(x, kSigmoidEnd) * factor(x); }
  float slope(float x) const {
    x = clamp(x, kSigmoidEnd, -kSigmoidEnd);
    const float e = fast_exp(std::min(x, 20.0f));
    const float d = e * (e + 2) + 2;
    // 1 - tanh^2 = 4 (e + 1)^2 / d^2; the slope of ln(1 + e^x) is e / (1 + e).
    return factor(x) + x * (4 * e * (e + 1) / d / d);
  }
};
struct ClampMap {
  float a, b;
  float value(float x) const { return clamp(x, a, b); }
  float slope(float x) const { return x >= a && x <= b ? 1 : 0; }
};

/// Calls use(function, grain) with the function that `attrs` names.
template <class Use>
void with_function(const ActivationAttrs& attrs, Use use) {
  const auto [type, a, b, c] = attrs;
  switch (type) {
    case ReLU:
      return use(Relu{a}, kCheapGrain);
    case Linear:
      return use(LinearMap{a, b}, kCheapGrain);
    case HardSigmoid:
      return use(HardSigmoidMap{a, b}, kCheapGrain);
    case Sigmoid:
      return use(SigmoidMap{}, kCostlyGrain);
    case Tanh:
      return use(ScaledTanh{a, b}, kCostlyGrain);
    case Absolute:
      return use(AbsoluteValue{}, kCheapGrain);
    case SoftPlus:
      return use(ScaledSoftPlus{a, b}, kCostlyGrain);
    case LogSigmoid:
      return use(ScaledSoftPlus{-1, -1}, kCostlyGrain);
    case SoftSign:
      return use(SoftSignMap{}, kCheapGrain);
    case ReLUN:
      return use(ReluN{a, b}, kCheapGrain);
    case ELU:
      return use(ScaledElu{1, a, 1}, kCostlyGrain);
    case SELU:
      return use(ScaledElu{1.0507009873554805f, 1.6732632423543772f, 1},
                 kCostlyGrain);
    case CELU:
      return use(ScaledElu{1, a, a}, kCostlyGrain);
    case HardShrink:
      return use(HardShrinkMap{a}, kCheapGrain);
    case SoftShrink:
      return use(SoftShrinkMap{a}, kCheapGrain);
    case TanhShrink:
      return use(TanhShrinkMap{}, kCostlyGrain);
    case Threshold:
      return use(ThresholdMap{a, b}, kCheapGrain);
    case HardSwish:
      return use(HardSwishMap{}, kCheapGrain);
    case Clamp:
      return use(ClampMap{a, b}, kCheapGrain);
    case None:
      return use(Identity{}, kCheapGrain);
    // Ops have oneDNN's, see find_eltwise().
    case GELU:
      return use(GeluMap{}, kCostlyGrain);
    case GELUTanh:
      return use(GeluTanhMap{}, kCostlyGrain);
    case SiLU:
      return use(SiluMap{}, kCostlyGrain);
    case Mish:
      return use(MishMap{}, kCostlyGrain);
  }
  throw InternalError(ErrorInfo{.op = "activation",
                                .what = "no loop for this type",
                                .got = std::string(to_string(type))});
}

/// oneDNN's function, with our own for what it gets wrong: its GELU of infinity
/// is NaN.
void lower_corrected(NodeLowering& lowering, Eltwise f, ActivationType type) {
  const auto lower = [&](auto function) {
    lower_eltwise_of_finite(lowering, f,
                            [=](float x) { return function.value(x); });
  };
  if (type == GELU) return lower(GeluMap{});
  if (type == GELUTanh) return lower(GeluTanhMap{});
  lower_eltwise(lowering, f);
}

}  // namespace

std::optional<Eltwise> find_eltwise(const ActivationAttrs& attrs) {
  using dnnl::algorithm;
  switch (attrs.type) {
    case Sigmoid:
      return Eltwise{algorithm::eltwise_logistic};
    case Tanh:
      if (attrs.a != 1 || attrs.b != 1) return {};
      return Eltwise{algorithm::eltwise_tanh};
    case GELU:
      return Eltwise{algorithm::eltwise_gelu_erf};
    case GELUTanh:
      return Eltwise{algorithm::eltwise_gelu_tanh};
    // oneDNN's e^x - 1 has no right digit near 0; its ln(1 + e^x) is off by up
    // to 4e-6, and negative for some x < -15, which ends in a NaN when a
    // logarithm follows.
    default:
      return {};
  }
}

void lower_activation(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ActivationAttrs>();
  // oneDNN's logistic loses digits far from 0 with SSE.
  const auto eltwise =
      attrs.type == Sigmoid ? std::nullopt : find_eltwise(attrs);
  if (eltwise) return lower_corrected(lowering, *eltwise, attrs.type);
  with_function(attrs, [&](auto function, std::int64_t grain) {
    lower_map(lowering, grain,
              [function](float x) { return function.value(x); });
  });
}

void lower_activation_gradient(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ActivationAttrs>();
  const bool reads_result = lowering.reads_activated(1);
  // From the result there is only y (1 - y) and 1 - y^2, from x there is
  // better.
  const bool is_curve = attrs.type == Tanh || attrs.type == Sigmoid;
  const bool has_better = is_curve && !reads_result;
  const auto eltwise = has_better     ? std::nullopt
                       : reads_result ? find_eltwise_of_result(attrs)
                                      : find_eltwise(attrs);
  if (eltwise) return lower_eltwise_gradient(lowering, *eltwise);
  // A padded gradient is zero and so is its product with any slope.
  const auto layout = common_layout(lowering, 1, 0, /*keeps_zero=*/true);
  with_function(attrs, [&](auto function, std::int64_t grain) {
    lower_zip(lowering, grain, layout, [function](float gradient, float x) {
      return gradient * function.slope(x);
    });
  });
}

void activate_row(const ActivationAttrs& attrs, const float* x, float* y,
                  std::int64_t n) {
  with_function(attrs, [&](auto function, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = function.value(x[i]);
  });
}

void slope_of_row(const ActivationAttrs& attrs, const float* x, float* slope,
                  std::int64_t n) {
  with_function(attrs, [&](auto function, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) slope[i] = function.slope(x[i]);
  });
}

}  // namespace traingraph::cpu
