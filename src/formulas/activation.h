// SPDX-License-Identifier: MIT
// The functions of the activation family and their slopes, of one float each.
#pragma once

#include "formulas/fast_math.h"
#include "formulas/portable.h"

namespace traingraph {
namespace formulas {
namespace functions {

/// A NaN stays one.
inline float clamp(float x, float low, float high) {
  return minimum(maximum(x, low), high);
}
inline float sigmoid(float x) {
  const float e = fast_exp(-fabs(x));  // never overflows
  return (x >= 0 ? 1 : e) / (1 + e);
}
inline float softplus(float x) {
  return maximum(x, 0.0f) + fast_log1p_unit(fast_exp(-fabs(x)));
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
  float value(float x) const { return a * tanh(b * x); }
  float slope(float x) const {  // 1 - tanh^2 would cancel
    const float e = fast_exp(-2 * fabs(b * x)), d = 1 + e;
    return a * b * (4 * e / (d * d));
  }
};
struct SigmoidMap {
  float value(float x) const { return sigmoid(x); }
  float slope(float x) const {  // y (1 - y) would cancel
    const float e = fast_exp(-fabs(x)), d = 1 + e;
    return e / (d * d);
  }
};
struct AbsoluteValue {
  float value(float x) const { return fabs(x); }
  float slope(float x) const { return x > 0 ? 1 : x < 0 ? -1 : 0; }
};
struct ScaledSoftPlus {
  float a, b;
  float value(float x) const { return a * softplus(b * x); }
  float slope(float x) const { return a * b * sigmoid(b * x); }
};
struct SoftSignMap {
  float value(float x) const { return x / (1 + fabs(x)); }
  float slope(float x) const {
    const float d = 1 + fabs(x);
    return 1 / (d * d);
  }
};
struct ReluN {
  float a, b;
  float value(float x) const { return minimum(leaky(x, a), b); }
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
  float value(float x) const { return fabs(x) > a ? x : 0; }
  float slope(float x) const { return fabs(x) > a ? 1 : 0; }
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
    return square < 0.25f ? series : x - tanh(x);
  }
  float slope(float x) const {
    const float t = tanh(x);
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
inline float gelu_end() { return -16; }
#if !defined(__METAL_VERSION__)  // it has no erfc
struct GeluMap {
  float value(float x) const {
    const float kScale = 0.70710678118654752f;  // 1 / sqrt(2)
    return maximum(x, gelu_end()) * 0.5f * erfc(-x * kScale);
  }
  float slope(float x) const {
    const float kScale = 0.70710678118654752f;   // 1 / sqrt(2)
    const float kDensity = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    x = clamp(x, gelu_end(), -gelu_end());
    return 0.5f * erfc(-x * kScale) + x * kDensity * fast_exp(-0.5f * x * x);
  }
};
#endif
/// u of GELU's approximation (1 + tanh u) x / 2, and its slope.
struct GeluInner {
  float scale, cubic;
};
inline GeluInner gelu_inner() {
  const float kScale = 0.7978845608028654f;  // sqrt(2 / pi)
  return {kScale, kScale * 0.044715f};
}
struct GeluTanhMap {
  float value(float x) const {
    const GeluInner k = gelu_inner();
    const float inner = x * (k.scale + k.cubic * x * x);
    return maximum(x, gelu_end()) * 0.5f * (1 + tanh(inner));
  }
  float slope(float x) const {
    const GeluInner k = gelu_inner();
    x = clamp(x, gelu_end(), -gelu_end());
    const float square = x * x;
    const float t = tanh(x * (k.scale + k.cubic * square));
    return 0.5f * (1 + t) +
           0.5f * x * (1 - t * t) * (k.scale + 3 * k.cubic * square);
  }
};
// GELU, and tanh, for results of 16 bits, in functions that vectorise.
struct StoredGelu {
  float value(float x) const {
    const float kScale = 0.70710678118654752f;  // 1 / sqrt(2)
    return maximum(x, gelu_end()) * 0.5f * fast_erfc(-x * kScale);
  }
  float slope(float x) const {
    const float kScale = 0.70710678118654752f;
    const float kDensity = 0.3989422804014327f;  // 1 / sqrt(2 pi)
    x = clamp(x, gelu_end(), -gelu_end());
    return 0.5f * fast_erfc(-x * kScale) +
           x * kDensity * fast_exp(-0.5f * x * x);
  }
};
struct StoredGeluTanh {
  // (1 + tanh u) / 2 is the sigmoid of 2 u.
  float value(float x) const {
    const GeluInner k = gelu_inner();
    return maximum(x, gelu_end()) *
           sigmoid(2 * x * (k.scale + k.cubic * x * x));
  }
  float slope(float x) const {
    const GeluInner k = gelu_inner();
    x = clamp(x, gelu_end(), -gelu_end());
    const float square = x * x, u = x * (k.scale + k.cubic * square);
    const float s = sigmoid(2 * u);
    return s + 2 * x * s * sigmoid(-2 * u) * (k.scale + 3 * k.cubic * square);
  }
};
struct StoredTanh {
  float a, b;
  float value(float x) const { return a * fast_tanh(b * x); }
  float slope(float x) const { return ScaledTanh{a, b}.slope(x); }
};
/// Below this e^x is 0 in float32, and with it SiLU and Mish, also in the
/// limit, where x * 0 would be NaN.
inline float sigmoid_end() { return -104; }
struct SiluMap {
  float value(float x) const { return maximum(x, sigmoid_end()) * sigmoid(x); }
  float slope(float x) const {
    x = clamp(x, sigmoid_end(), -sigmoid_end());
    // s (1 + x (1 - s)), with 1 - s as the other side's sigmoid.
    return sigmoid(x) * (1 + x * sigmoid(-x));
  }
};
struct MishMap {
  /// tanh(ln(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2).
  static float factor(float x) {
    const float e = fast_exp(minimum(x, 20.0f));  // 1 beyond
    const float n = e * (e + 2);
    return n / (n + 2);
  }
  float value(float x) const { return maximum(x, sigmoid_end()) * factor(x); }
  float slope(float x) const {
    x = clamp(x, sigmoid_end(), -sigmoid_end());
    const float e = fast_exp(minimum(x, 20.0f));
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

}  // namespace functions
}  // namespace formulas
}  // namespace traingraph
