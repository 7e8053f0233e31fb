// SPDX-License-Identifier: MIT
// Element-wise kernels in whatever layout their operands have: plain loops over
// the bytes of a layout.
#pragma once

#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/broadcast.h"
#include "cpu/float_types.h"
#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

/// The layout of `input` if a loop over its bytes may run in it: there are to
/// be zeros in padded areas, so a function that moves zero needs a plain one.
Layout loop_layout(const UnitBuilder& unit, int input, bool keeps_zero);
/// The layout for two operands of equal shape: that of `first`, unless only
/// `second` was given a special one.
Layout common_layout(const UnitBuilder& unit, int first, int second,
                     bool keeps_zero);
/// Elements of a layout, padding included.
std::int64_t num_elements(const Layout& layout);

/// Is none of them NaN or infinite?
template <class T>
bool is_finite(const T* x, std::int64_t n) {
  std::atomic<bool> is_finite = true;
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    constexpr float kMax = std::numeric_limits<float>::max();
    int is_outside = 0;
#pragma omp simd reduction(| : is_outside)
    for (std::int64_t i = begin; i < end; ++i) {
      is_outside |= std::fabs(static_cast<float>(x[i])) <= kMax ? 0 : 1;
    }
    if (is_outside != 0) is_finite.store(false, std::memory_order_relaxed);
  });
  return is_finite;
}

/// Elements of 16 bits become floats in pieces that stay in the nearest cache,
/// so that there is one loop for each function whatever it reads.
inline constexpr std::int64_t kUpcastPiece = 512;

/// y[i] = f(x[i]), on the calling thread; `f` is an F.
template <class F>
void map_row(const void* f, const float* x, float* y, std::int64_t n) {
  vectorized([=] {
    const F local = *static_cast<const F*>(f);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = local(x[i]);
  });
}
/// z[i] = f(x[i], y[i]), on the calling thread; `f` is an F.
template <class F>
void zip_row(const void* f, const float* x, const float* y, float* z,
             std::int64_t n) {
  vectorized([=] {
    const F local = *static_cast<const F*>(f);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) z[i] = local(x[i], y[i]);
  });
}

struct MapRow {
  void (*run)(const void*, const float*, float*, std::int64_t);
  const void* f;
};
struct ZipRow {
  void (*run)(const void*, const float*, const float*, float*, std::int64_t);
  const void* f;
};
// These run on the thread pool, for all stored types.
template <class T>
void run_map(std::int64_t n, std::int64_t grain, const T* x, T* y, MapRow row);
template <class T>
void run_zip(std::int64_t n, std::int64_t grain, const T* x, const T* y, T* z,
             ZipRow row);

/// z[i] = f(x[i], y[i]) with x and y, of 16 bits, broadcast to z.
template <class T>
void run_broadcast_zip(const BroadcastPlan<2>& plan, std::int64_t grain,
                       const T* x, const T* y, T* z, ZipRow row);

/// y[i] = f(x[i])
template <class T, class F>
void map_floats(std::int64_t n, std::int64_t grain, const T* x, T* y, F f) {
  run_map(n, grain, x, y, {map_row<F>, &f});
}

/// z[i] = f(x[i], y[i])
template <class T, class F>
void zip_floats(std::int64_t n, std::int64_t grain, const T* x, const T* y,
                T* z, F f) {
  run_zip(n, grain, x, y, z, {zip_row<F>, &f});
}

/// result 0 = f(input 0), element by element.
template <class F>
void lower_map(UnitBuilder& unit, std::int64_t grain, F f) {
  const auto layout = loop_layout(unit, 0, f(0.0f) == 0.0f);
  const int in = unit.read(0, layout), out = unit.write(0, layout);
  unit.may_run_in_place(0, 0);
  const DataType type = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    emit(unit, [=, n = num_elements(layout)](BindContext& at) -> BoundKernel {
      return [f, n, grain, x = typed<T>(at[in]), y = typed<T>(at[out])] {
        map_floats(n, grain, x, y, f);
      };
    });
  });
}

/// result 0 = f(input 0, input 1) for inputs of equal shape.
template <class F>
void lower_zip(UnitBuilder& unit, std::int64_t grain, const Layout& layout,
               F f) {
  const int left = unit.read(0, layout), right = unit.read(1, layout);
  const int out = unit.write(0, layout);
  unit.may_run_in_place(0, 0);
  unit.may_run_in_place(0, 1);
  const DataType type = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    emit(unit, [=, n = num_elements(layout)](BindContext& at) -> BoundKernel {
      return [f, n, grain, x = typed<T>(at[left]), y = typed<T>(at[right]),
              z = typed<T>(at[out])] { zip_floats(n, grain, x, y, z, f); };
    });
  });
}

}  // namespace traingraph::cpu
