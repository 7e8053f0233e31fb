// SPDX-License-Identifier: MIT
// Functions without branches and calls, so that loops over them vectorise. The
// library's exp and its like are exact to half a unit in the last place,
// and cost a call per element.
//
// Each states its largest relative error in units of the last place (ulp); the
// tests hold it to that. NaN stays NaN.
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace formulas {

inline float power_of_two(int32 n) {
  // Unsigned, since the n of a NaN is anything.
  return float_of((static_cast<uint32>(n) + 127u) << 23);
}

/// e^r - 1 for |r| <= ln 2 / 2: r + r^2 P(r).
inline float exp_minus_one(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * r * r + r;
}

/// x = n ln 2 + r with |r| <= ln 2 / 2, and 2^n as two factors that are normal
/// numbers even where e^x overflows or is subnormal.
struct Reduced {
  float r, half, other_half;
  int32 n;

  explicit Reduced(float x) {
    const float kRound = 12582912.0f;  // 1.5 * 2^23: its last bit is 1
    x = x < -104 ? -104 : x;           // NaN passes
    x = x > 89 ? 89 : x;
    const float shifted = x * 1.44269504f + kRound;
    const float whole = shifted - kRound;
    n = static_cast<int32>(bits_of(shifted) - bits_of(kRound));
    r = x - whole * 0.693359375f;  // ln 2 to 9 bits: the product is exact
    r -= whole * -2.12194440e-4f;
    half = power_of_two(n >> 1);
    other_half = power_of_two(n - (n >> 1));
  }
};

/// a x for negative x, but 0 for a = 0 even where x is infinite.
inline float leaky(float x, float a) {
  const float negative = a == 0 ? 0 : a * x;
  return x < 0 ? negative : x;
}

/// e^x; 1 ulp.
inline float fast_exp(float x) {
  const Reduced reduced(x);
  return (exp_minus_one(reduced.r) + 1) * reduced.half * reduced.other_half;
}

/// e^x for x up to 88, 0 where that is below the smallest normal number; 1 ulp.
/// Half the work of fast_exp(), for softmax.
inline float fast_exp_below(float x) {
  const float kRound = 12582912.0f;  // as above
  x = x < -88 ? -88 : x;             // 2^-127: the exponent of 0
  const float shifted = x * 1.44269504f + kRound;
  const float whole = shifted - kRound;
  float r = x - whole * 0.693359375f;
  r -= whole * -2.12194440e-4f;
  const int32 n = static_cast<int32>(bits_of(shifted) - bits_of(kRound));
  return (exp_minus_one(r) + 1) * power_of_two(n);
}

/// e^x - 1; 4 ulp.
inline float fast_expm1(float x) {
  const Reduced reduced(x);
  const float p = exp_minus_one(reduced.r);
  const float scaled =
      (p * reduced.half + reduced.half) * reduced.other_half - 1;
  return reduced.n == 0 ? p : scaled;
}

/// ln(1 + x) for 0 <= x <= 1; 2 ulp.
inline float fast_log1p_unit(float x) {
  // 2 artanh(s) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), s <= 1/3
  const float s = x / (2 + x), square = s * s;
  float p = 1.0f / 15;
  p = p * square + 1.0f / 13;
  p = p * square + 1.0f / 11;
  p = p * square + 1.0f / 9;
  p = p * square + 1.0f / 7;
  p = p * square + 1.0f / 5;
  p = p * square + 1.0f / 3;
  return 2 * (s + s * (square * p));
}

/// 1 / (1 + e^-x); 3 ulp.
inline float fast_sigmoid(float x) {
  const float e = fast_exp(-fabs(x));  // never overflows
  return (x >= 0 ? 1 : e) / (1 + e);
}

/// tanh x; 2 ulp.
inline float fast_tanh(float x) {
  // Near 0 a polynomial that was fitted for the least relative error.
  const float square = x * x;
  float p = -5.895158e-3f;
  p = p * square + 2.0795971e-2f;
  p = p * square - 5.378383e-2f;
  p = p * square + 1.3331924e-1f;
  p = p * square - 3.33333e-1f;
  const float near = p * square * x + x;
  const float far = 1 - 2 / (fast_exp(2 * fabs(x)) + 1);
  return square < 0.36f ? near : copysign(far, x);
}

/// 1 - erf x, with a relative error of 2e-5 on both sides: for results that are
/// stored in 16 bits.
inline float fast_erfc(float x) {
  // e^(-z^2) t e^P(t) with t = 1 / (1 + z / 2), z = |x|; P was fitted.
  const float z = fabs(x), t = 1 / (1 + 0.5f * z);
  float p = -0.19129585f;
  p = p * t + 0.76621908f;
  p = p * t - 1.02617490f;
  p = p * t + 0.37268880f;
  p = p * t - 0.05143498f;
  p = p * t + 0.39737102f;
  p = p * t + 0.99807209f;
  p = p * t - 1.26544607f;
  const float tail = t * fast_exp(p - z * z);
  return x < 0 ? 2 - tail : tail;
}

/// The nearest whole number, ties to even; exact.
inline float fast_round(float x) {
  const float kWhole = 8388608.0f;  // from here on all floats are whole
  const float magnitude = fabs(x);
  const float rounded = copysign((magnitude + kWhole) - kWhole, x);
  return magnitude < kWhole ? rounded : x;
}

/// The largest whole number that is not above x; exact.
inline float fast_floor(float x) {
  const float rounded = fast_round(x);
  return rounded - (rounded > x ? 1.0f : 0.0f);
}

/// The smallest whole number that is not below x; exact.
inline float fast_ceil(float x) {
  const float rounded = fast_round(x);
  return copysign(rounded + (rounded < x ? 1.0f : 0.0f), x);
}

}  // namespace formulas
}  // namespace traingraph
