// SPDX-License-Identifier: MIT
// Gates of an LSTM over short rows: the usual activations as loops of their
// own, all others by elementwise_rows.h.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/ops/elementwise_rows.h"
#include "cpu/parallel.h"
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
  /// f(x) and f'(x) from what was saved, f(x) or x.
  void restore(const float* saved, float* value, float* slope,
               std::int64_t n) const;
  /// The same from x.
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
  if (activation.type == ActivationType::Tanh && saves_result) {
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

/// The gates of an op, by LstmGate, and the activation of its cell.
struct LstmGates {
  std::array<Gate, kNumLstmGates> gate;
  Gate cell;
  std::array<int, kNumLstmGates> block;

  explicit LstmGates(const LstmAttrs& attrs)
      : cell(lstm_activation(attrs)), block(lstm_blocks(attrs)) {
    const auto activations = lstm_gates(attrs);
    for (int q = 0; q < kNumLstmGates; ++q) gate[q] = Gate(activations[q]);
  }
};

/// Which steps a sample takes part in, and in which order.
struct LstmSteps {
  std::int64_t steps, samples, hidden;
  bool is_reverse;

  /// The step that is done as the i-th.
  std::int64_t at(std::int64_t i) const {
    return is_reverse ? steps - 1 - i : i;
  }
  /// `lengths` may be null.
  std::int64_t length(const std::int32_t* lengths, std::int64_t sample) const {
    if (!lengths) return steps;
    return std::clamp<std::int64_t>(lengths[sample], 0, steps);
  }
  /// The step before `step` of a sample of this length; -1: initial state.
  std::int64_t before(std::int64_t step, std::int64_t length) const {
    if (!is_reverse) return step - 1;
    return step + 1 < length ? step + 1 : -1;
  }

  std::int64_t num_blocks() const {
    return (hidden + kGateColumns - 1) / kGateColumns;
  }
  /// Calls f(sample, first column, columns), in parallel.
  template <class F>
  void for_each_block(F&& f) const;
};

template <class F>
void LstmSteps::for_each_block(F&& f) const {
  const std::int64_t blocks = num_blocks();
  parallel_for(
      samples * blocks, kCostlyGrain / std::min(hidden, kGateColumns),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t column = i % blocks * kGateColumns;
          f(i / blocks, column, std::min(kGateColumns, hidden - column));
        }
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
