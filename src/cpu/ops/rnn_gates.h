// SPDX-License-Identifier: MIT
// Gates of recurrent ops over short rows: the usual activations as loops of
// their own, all others by elementwise_rows.h.
#pragma once

#include <algorithm>

#include "cpu/float_types.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/vector_math.h"
#include "ops/rnn_gates.h"

namespace traingraph::cpu {

/// Columns that are worked on at once: what they need stays in the first cache.
inline constexpr std::int64_t kGateColumns = 128;
using GateRow = float[kGateColumns];

/// An activation, and what the forward op saves of it.
struct Gate {
  ActivationAttrs activation;
  bool saves_result = true;

  Gate() = default;
  explicit Gate(const ActivationAttrs& attrs)
      : activation(attrs), saves_result(has_slope_of_result(attrs)) {}

  /// x = f(x)
  void activate(float* x, std::int64_t n) const;
  /// Activates, and saves what the gradient needs in `saved`, which may be
  /// null.
  template <class T>
  void activate(float* x, T* saved, std::int64_t n) const {
    if (saved && !saves_result) std::copy_n(x, n, saved);
    activate(x, n);
    if (saved && saves_result) std::copy_n(x, n, saved);
  }
  /// f(x) and f'(x) from what was saved, f(x) or x.
  void restore(const float* saved, float* value, float* slope,
               std::int64_t n) const;
  /// Differentiates from x.
  void differentiate(const float* x, float* value, float* slope,
                     std::int64_t n) const;
};

inline void Gate::activate(float* x, std::int64_t n) const {
  const float a = activation.a, b = activation.b;
  switch (activation.type) {
    case ActivationType::None:
      return;
    case ActivationType::Sigmoid:
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) x[i] = fast_sigmoid(x[i]);
      return;
    case ActivationType::Tanh:
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) x[i] = a * fast_tanh(b * x[i]);
      return;
    default:
      return activate_row(activation, x, x, n);
  }
}

inline void Gate::restore(const float* saved, float* value, float* slope,
                          std::int64_t n) const {
  if (!saves_result) return differentiate(saved, value, slope, n);
  const float a = activation.a, b = activation.b;
  const auto loop = [&](auto slope_of) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float y = saved[i];
      value[i] = y;
      slope[i] = slope_of(y);
    }
  };
  switch (activation.type) {
    case ActivationType::Sigmoid:
      return loop([](float y) { return y * (1 - y); });
    case ActivationType::Tanh:
      return loop([=](float y) { return b * (a - y * (y / a)); });
    case ActivationType::HardSigmoid:
      return loop([=](float y) { return y > 0 && y < 1 ? a : 0.0f; });
    case ActivationType::ReLU:
      return loop([=](float y) { return y > 0 ? 1.0f : a; });
    case ActivationType::Linear:
      return loop([=](float) { return a; });
    default:
      return loop([](float) { return 1.0f; });  // None
  }
}

inline void Gate::differentiate(const float* x, float* value, float* slope,
                                std::int64_t n) const {
  if (activation.type == ActivationType::Tanh) {
    const float a = activation.a, b = activation.b;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float y = fast_tanh(b * x[i]);
      value[i] = a * y;
      slope[i] = a * b * (1 - y * y);
    }
    return;
  }
  slope_of_row(activation, x, slope, n);
  activate_row(activation, x, value, n);
}

// Rows of floats, and of what is stored; null: zeros.

template <class T>
void add_row(float* sum, const T* x, std::int64_t n) {
  if (!x) return;
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) sum[j] += x[j];
}

template <class T>
void add_product_row(float* sum, const T* x, const float* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) sum[j] += x[j] * y[j];
}

/// to = x y, or x without a y.
template <class Y, class To>
void multiply_row(const float* x, const Y* y, To* to, std::int64_t n) {
  if (!y) {
    std::copy_n(x, n, to);
    return;
  }
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) to[j] = x[j] * y[j];
}

/// `from` as floats, in `buffer` when they are stored otherwise.
template <class T>
const float* floats_of(const T* from, float* buffer, std::int64_t n) {
  if constexpr (is_exact<T>) {
    if (from) return from;
  }
  if (from) {
    std::copy_n(from, n, buffer);
  } else {
    std::fill_n(buffer, n, 0.0f);
  }
  return buffer;
}

template <class T>
T* offset(T* base, std::int64_t by) {
  return base ? base + by : nullptr;
}

}  // namespace traingraph::cpu
