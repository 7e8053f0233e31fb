// SPDX-License-Identifier: MIT
// What is computed of a product's tile while it is in the cache: a bias, and
// the activation behind it.
#pragma once

#include <cstdint>

#include "cpu/cblas/gelu.h"
#include "cpu/instruction_set.h"
#include "cpu/lowering.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {

enum class Curve { None, Relu, Sigmoid, Tanh, Gelu, GeluTanh };

struct Epilogue {
  Curve curve = Curve::None;
  float slope = 0;  // of ReLU
  bool has_bias = false;

  bool is_empty() const { return curve == Curve::None && !has_bias; }
};

/// Has the epilogue code for the next activation?
inline bool has_curve(const ActivationAttrs* next) {
  if (next == nullptr) return false;
  switch (next->type) {
    case ActivationType::ReLU:
    case ActivationType::Sigmoid:
    case ActivationType::GELU:
    case ActivationType::GELUTanh:
      return true;
    case ActivationType::Tanh:
      return next->a == 1 && next->b == 1;
    default:
      return false;
  }
}

inline Curve curve_of(ActivationType type) {
  switch (type) {
    case ActivationType::ReLU:
      return Curve::Relu;
    case ActivationType::Sigmoid:
      return Curve::Sigmoid;
    case ActivationType::GELU:
      return Curve::Gelu;
    case ActivationType::GELUTanh:
      return Curve::GeluTanh;
    default:
      return Curve::Tanh;
  }
}

/// Fuses the next activation if there is code for it.
inline Epilogue fuse_epilogue(UnitBuilder& unit, bool has_bias) {
  Epilogue epilogue{.has_bias = has_bias};
  const ActivationAttrs* next = unit.fusion().next_activation();
  if (!has_curve(next)) return epilogue;
  epilogue.slope = next->a;
  epilogue.curve = curve_of(next->type);
  unit.fusion().fuse_activation();
  return epilogue;
}

namespace detail {

template <class Bias, class F>
void finish_rows(std::int64_t rows, std::int64_t columns, const float* from,
                 std::int64_t from_row, float* to, std::int64_t to_row,
                 const Bias& bias, F f) {
  vectorized([&] {
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* x = from + i * from_row;
      float* y = to + i * to_row;
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) y[j] = f(x[j] + bias(i, j));
    }
  });
}

}  // namespace detail

/// to = f(from + bias(i, j)), row by row; `to` may be `from`.
template <class Bias>
void finish(const Epilogue& epilogue, std::int64_t rows, std::int64_t columns,
            const float* from, std::int64_t from_row, float* to,
            std::int64_t to_row, const Bias& bias) {
  const auto run = [&](auto f) {
    detail::finish_rows(rows, columns, from, from_row, to, to_row, bias, f);
  };
  switch (epilogue.curve) {
    case Curve::None:
      return run([](float x) { return x; });
    case Curve::Relu:
      return run([slope = epilogue.slope](float x) { return leaky(x, slope); });
    case Curve::Sigmoid:
      return run([](float x) { return fast_sigmoid(x); });
    case Curve::Tanh:
      return run([](float x) { return fast_tanh(x); });
    case Curve::Gelu:
      return run([](float x) { return ExactGelu().value(x); });
    case Curve::GeluTanh:
      return run([](float x) {
        return formulas::functions::StoredGeluTanh().value(x);
      });
  }
}

}  // namespace traingraph::cpu
