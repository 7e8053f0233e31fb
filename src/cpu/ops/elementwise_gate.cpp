// SPDX-License-Identifier: MIT
// Gated activations and their gradients (lowering/gate.h): pieces of both
// halves go through their functions while they are in the nearest cache.
#include <algorithm>
#include <array>

#include "base/divide_up.h"
#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/ops/layout_parts.h"
#include "formulas/activation.h"
#include "lowering/gate.h"

namespace traingraph::cpu {
namespace {

using formulas::functions::StoredTanh;

/// y = f(x), and g f'(x); none of a half that is multiplied as it is.
struct GateFunction {
  RowFunction value, times_slope;
  bool has_slope_of_result = false;  // then of f(x) instead of x
};

template <class F>
RowFunction slope_of_result(F slope) {
  return row_of_zip([=](float g, float y) { return g * slope(y); },
                    kCheapGrain);
}

GateFunction function_of(const std::optional<ActivationAttrs>& attrs) {
  if (!attrs) return {};
  GateFunction f;
  f.has_slope_of_result = has_gradient_of_result(*attrs);
  if (attrs->type == ActivationType::Tanh) {
    // The library's tanh is no function that vectorises.
    f.value = row_of_map(
        [of = StoredTanh{attrs->a, attrs->b}](float x) { return of.value(x); },
        kCostlyGrain);
  } else {
    f.value = activation_row(*attrs);
  }
  if (!f.has_slope_of_result) {
    f.times_slope = activation_gradient_row(*attrs);
  } else if (attrs->type == ActivationType::Tanh) {
    f.times_slope = slope_of_result([](float y) { return 1 - y * y; });
  } else {
    f.times_slope = slope_of_result([](float y) { return y * (1 - y); });
  }
  return f;
}

/// Rows of two halves of `run` elements each, side by side.
struct GateRows {
  std::int64_t count, run;

  /// f(offset in the whole of the first half, offset in a half, size)
  template <class F>
  void for_each_piece(F&& f) const {
    const std::int64_t pieces = divide_up(run, kActivatedPiece);
    const std::int64_t least = std::min(run, kActivatedPiece);
    parallel_for(
        count * pieces, std::max<std::int64_t>(1, kCostlyGrain / least),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t row = i / pieces;
            const std::int64_t at = i % pieces * kActivatedPiece;
            f(2 * row * run + at, row * run + at,
              std::min(kActivatedPiece, run - at));
          }
        },
        /*multiple=*/1);
  }
};

/// The half of a piece as floats, and the factor that its function makes of it.
template <class T>
class GateHalf {
 public:
  GateHalf(const GateFunction& f, const T* from, std::int64_t n) {
    if constexpr (is_exact<T>) {
      x = from;
    } else {
      std::copy_n(from, n, stored_);
      x = stored_;
    }
    factor = f.value.map ? computed_ : x;
    if (f.value.map) f.value(x, nullptr, computed_, n);
  }
  GateHalf(const GateHalf&) = delete;
  GateHalf& operator=(const GateHalf&) = delete;

  const float *x, *factor;

 private:
  float stored_[is_exact<T> ? 1 : kActivatedPiece];
  float computed_[kActivatedPiece];
};

template <class T>
struct GateKernel {
  GateRows rows;
  std::array<GateFunction, 2> functions;
  const T *x, *gradient;  // of y; null: forward
  T* result;              // y or dx

  void operator()() const { gradient ? run_gradient() : run_forward(); }

 private:
  void run_forward() const {
    rows.for_each_piece(
        [&](std::int64_t from, std::int64_t at, std::int64_t n) {
          const GateHalf<T> first(functions[0], x + from, n);
          const GateHalf<T> second(functions[1], x + from + rows.run, n);
          const float *a = first.factor, *b = second.factor;
          T* y = result + at;
#pragma omp simd
          for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
        });
  }

  void run_gradient() const {
    rows.for_each_piece(
        [&](std::int64_t from, std::int64_t at, std::int64_t n) {
          const GateHalf<T> first(functions[0], x + from, n);
          const GateHalf<T> second(functions[1], x + from + rows.run, n);
          T* dx = result + from;
          differentiate(functions[0], first, second, gradient + at, dx, n);
          differentiate(functions[1], second, first, gradient + at,
                        dx + rows.run, n);
        });
  }

  static void differentiate(const GateFunction& f, const GateHalf<T>& half,
                            const GateHalf<T>& other, const T* g, T* to,
                            std::int64_t n) {
    Upcast<T> piece(to);
    float* product = piece.floats();
    const float* factor = other.factor;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) product[i] = g[i] * factor[i];
    if (f.times_slope.zip) {
      f.times_slope(product, f.has_slope_of_result ? half.factor : half.x,
                    product, n);
    }
    piece.store(n);
  }
};

GateRows rows_of_halves(const Layout& whole, const Layout& half,
                        std::int64_t axis) {
  const Shape sizes = memory_sizes(whole, half);
  const int first = memory_axis(whole, axis);
  GateRows rows{1, 1};
  for (int i = 0; i < sizes.rank(); ++i) {
    (i < first ? rows.count : rows.run) *= sizes[i];
  }
  return rows;
}

}  // namespace

bool has_gate_row(const ActivationAttrs& attrs) {
  return attrs.type == ActivationType::Tanh || !has_engine_activation(attrs);
}

void lower_gate(UnitBuilder& unit) {
  Gate gate(unit);
  const std::int64_t axis = gate.split.attrs<SplitAttrs>().axis;
  const TensorDescriptor& whole = gate.split.input_desc(0);
  const TensorDescriptor& part = gate.split.result_desc(0);
  const Layout layout =
      layout_of_whole(gate.split.layout(0), whole, {part, part});
  const Layout half = layout_like(layout, part);
  const int x = gate.split.read(0, layout);
  const bool is_gradient = gate.is_gradient();
  const int gradient =
      is_gradient ? gate.gradient->read(gate.gradient_input, half) : -1;
  const int result = gate.last.write(0, is_gradient ? layout : half);
  const std::array<GateFunction, 2> functions{function_of(gate.functions[0]),
                                              function_of(gate.functions[1])};
  const GateRows rows = rows_of_halves(layout, half, axis);
  visit_any_float(unit, whole.data_type, [&]<class T>(T) {
    emit(gate.last, [=](BindContext& at) -> BoundKernel {
      return GateKernel<T>{rows, functions, typed<T>(at[x]),
                           gradient < 0 ? nullptr : typed<T>(at[gradient]),
                           typed<T>(at[result])};
    });
  });
}

}  // namespace traingraph::cpu
