// SPDX-License-Identifier: MIT
// Element-wise functions over a few floats in the cache, for kernels that
// compute them along with something else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "cpu/float_types.h"
#include "cpu/lowering.h"
#include "cpu/ops/elementwise_lowering.h"
#include "lowering/fusion_search.h"
#include "traingraph/op_attrs.h"

namespace traingraph::cpu {

/// y = f(x); may be in place.
void activate_row(const ActivationAttrs& attrs, const float* x, float* y,
                  std::int64_t n);
/// f'(x)
void slope_of_row(const ActivationAttrs& attrs, const float* x, float* slope,
                  std::int64_t n);

/// Elements that a kernel passes on to an activation while they are in the
/// nearest cache.
inline constexpr std::int64_t kActivatedPiece = 512;

/// A piece of such elements as floats: where they are stored so, themselves.
template <class T>
class Upcast {
 public:
  explicit Upcast(T* at) : at_(at) {}

  float* floats() {
    if constexpr (is_exact<T>) {
      return at_;
    } else {
      return piece_;
    }
  }
  void load(std::int64_t n) {
    if constexpr (!is_exact<T>) std::copy_n(at_, n, piece_);
  }
  void store(std::int64_t n) {
    if constexpr (!is_exact<T>) std::copy_n(piece_, n, at_);
  }

 private:
  T* at_;
  float piece_[is_exact<T> ? 1 : kActivatedPiece];
};

/// A function of one float or of two; z may be one of its operands.
struct RowFunction {
  void operator()(const float* x, const float* y, float* z,
                  std::int64_t n) const {
    map ? map(f.get(), x, z, n) : zip(f.get(), x, y, z, n);
  }

  std::shared_ptr<const void> f;
  decltype(MapRow::run) map = nullptr;
  decltype(ZipRow::run) zip = nullptr;
  std::int64_t grain = kCheapGrain;  // elements that are worth a thread
};

template <class F>
RowFunction row_of_map(F f, std::int64_t grain) {
  return {.f = std::make_shared<F>(f), .map = map_row<F>, .grain = grain};
}
template <class F>
RowFunction row_of_zip(F f, std::int64_t grain) {
  return {.f = std::make_shared<F>(f), .zip = zip_row<F>, .grain = grain};
}

/// to[i] = g[i] f'(z[i]) of up to kActivatedPiece elements, which z is lost
/// for.
template <class T, class To>
void multiply_slope(const RowFunction& times_slope, const T* g, float* z,
                    To* to, std::int64_t n) {
  if constexpr (is_exact<T> && is_exact<To>) {
    times_slope(g, z, to, n);
  } else {
    float piece[kActivatedPiece];
    std::copy_n(g, n, piece);
    times_slope(piece, z, z, n);
    std::copy_n(z, n, to);
  }
}

RowFunction unary_row(ArithmeticOperation operation);
RowFunction binary_row(ArithmeticOperation operation);
RowFunction activation_row(const ActivationAttrs& attrs);
RowFunction activation_gradient_row(const ActivationAttrs& attrs);

// Gated activations (lowering/gate.h).
bool has_gate_row(const ActivationAttrs& attrs);
void lower_gate(UnitBuilder& unit);

// Chains of element-wise nodes in float32 (lowering/expression.h).
void join_expressions(FusionSearch& search);
/// Does the unit compute a node whose result its own element-wise node reads?
bool is_expression(UnitBuilder& unit);
void lower_expression(UnitBuilder& unit);

}  // namespace traingraph::cpu
