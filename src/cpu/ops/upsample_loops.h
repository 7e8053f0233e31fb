// SPDX-License-Identifier: MIT
// Loops that sample images at other positions, and their adjoint. Rows first,
// into the workspace of a thread, then along the row: what the vectors load is
// side by side, and every result is one thread's, with its sums in one order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/float_types.h"
#include "cpu/parallel.h"
#include "ops/upsample_taps.h"

namespace traingraph::cpu {

/// Tensors seen as (images, rows, columns, inner): inner is channels, where
/// the layout has some of them side by side.
struct UpsamplePlan {
  UpsampleTaps rows, columns;
  std::int64_t images, inner;
  int num_workers;

  std::int64_t in_row() const { return columns.in * inner; }
  std::int64_t out_row() const { return columns.out() * inner; }

  /// Calls f(begin, end, workspace) for parts of `n` rows; there are
  /// `num_floats` in each workspace.
  template <class F>
  void for_workers(std::int64_t n, float* space, std::int64_t num_floats,
                   F&& f) const {
    run_workers(num_workers, [&](int worker) {
      const Part part(n, worker, num_workers, /*multiple=*/1);
      vectorized([&] { f(part.begin, part.end, space + worker * num_floats); });
    });
  }
};

/// y = x at the nearest samples. A row like the one before is copied from it.
template <class T>
void upsample_nearest(const UpsamplePlan& plan, const T* x, T* y) {
  const std::int64_t height = plan.rows.out(), width = plan.columns.out();
  const std::int64_t inner = plan.inner;
  const std::int32_t* column = plan.columns.first.data();
  parallel_for(
      plan.images * height,
      std::max<std::int64_t>(1, kCheapGrain / plan.out_row()),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t image = row / height, i = row % height;
          const std::int64_t source = plan.rows.first[i];
          T* to = y + row * plan.out_row();
          if (row > begin && i > 0 && plan.rows.first[i - 1] == source) {
            std::copy_n(to - plan.out_row(), plan.out_row(), to);
            continue;
          }
          const T* from = x + (image * plan.rows.in + source) * plan.in_row();
          if (inner == 1) {
            for (std::int64_t j = 0; j < width; ++j) to[j] = from[column[j]];
            continue;
          }
          for (std::int64_t j = 0; j < width; ++j) {
            std::copy_n(from + column[j] * inner, inner, to + j * inner);
          }
        }
      },
      /*multiple=*/1);
}

/// to[e] = v a[e] + w b[e]; a sample that has no weight does not count,
/// even where it is infinite.
template <class A, class B>
void blend(const A* a, float v, const A* b, float w, std::int64_t n, B* to) {
  if (w == 0) {
    std::copy_n(a, n, to);
    return;
  }
#pragma omp simd
  for (std::int64_t e = 0; e < n; ++e) {
    to[e] = v * static_cast<float>(a[e]) + w * static_cast<float>(b[e]);
  }
}

/// One row of the result, of a row that is blended already.
template <class T>
void blend_along(const UpsampleTaps& columns, std::int64_t inner,
                 const float* row, T* to) {
  const std::int32_t* first = columns.first.data();
  const std::int32_t* second = columns.second.data();
  const float* rest = columns.rest.data();
  const float* weight = columns.weight.data();
  const std::int64_t width = columns.out();
  if (inner == 1) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) {
      const float a = row[first[j]], b = row[second[j]], w = weight[j];
      to[j] = w == 0 ? a : rest[j] * a + w * b;
    }
    return;
  }
  for (std::int64_t j = 0; j < width; ++j) {
    blend(row + first[j] * inner, rest[j], row + second[j] * inner, weight[j],
          inner, to + j * inner);
  }
}

/// Floats that each worker needs.
inline std::int64_t linear_space(const UpsamplePlan& plan) {
  return plan.in_row();
}

template <class T>
void upsample_linear(const UpsamplePlan& plan, const T* x, float* space, T* y) {
  const UpsampleTaps& rows = plan.rows;
  plan.for_workers(
      plan.images * rows.out(), space, linear_space(plan),
      [&](std::int64_t begin, std::int64_t end, float* blended) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t i = row % rows.out();
          const T* image = x + row / rows.out() * rows.in * plan.in_row();
          blend(image + rows.first[i] * plan.in_row(), rows.rest[i],
                image + rows.second[i] * plan.in_row(), rows.weight[i],
                plan.in_row(), blended);
          blend_along(plan.columns, plan.inner, blended,
                      y + row * plan.out_row());
        }
      });
}

/// sum[e] = sum over k of weight[k] g[from[k] stride + e]
template <class T>
void add_shares(const UpsampleShares& shares, std::int64_t s, std::int64_t n,
                const T* g, std::int64_t stride, float* sum) {
  std::fill_n(sum, n, 0.0f);
  for (std::int64_t k = shares.begin[s]; k < shares.begin[s + 1]; ++k) {
    const T* from = g + shares.from[k] * stride;
    const float w = shares.weight[k];
#pragma omp simd
    for (std::int64_t e = 0; e < n; ++e) {
      sum[e] += w * static_cast<float>(from[e]);
    }
  }
}

/// One row of dx, of the sum of the gradient's rows; `sum` has room for
/// `inner`.
template <class T>
void add_along(const UpsampleShares& columns, std::int64_t width,
               std::int64_t inner, const float* row, float* sum, T* dx) {
  for (std::int64_t c = 0; c < width; ++c) {
    if (inner > 1) {
      add_shares(columns, c, inner, row, inner, sum);
      std::copy_n(sum, inner, dx + c * inner);
      continue;
    }
    double total = 0;
    for (std::int64_t k = columns.begin[c]; k < columns.begin[c + 1]; ++k) {
      total += columns.weight[k] * row[columns.from[k]];
    }
    dx[c] = static_cast<float>(total);
  }
}

inline std::int64_t gradient_space(const UpsamplePlan& plan) {
  return plan.out_row() + plan.inner;
}

template <class T>
void upsample_gradient(const UpsamplePlan& plan, const UpsampleShares& rows,
                       const UpsampleShares& columns, const T* g, float* space,
                       T* dx) {
  const std::int64_t height = plan.rows.in;
  plan.for_workers(
      plan.images * height, space, gradient_space(plan),
      [&](std::int64_t begin, std::int64_t end, float* sums) {
        for (std::int64_t row = begin; row < end; ++row) {
          const T* image = g + row / height * plan.rows.out() * plan.out_row();
          add_shares(rows, row % height, plan.out_row(), image, plan.out_row(),
                     sums);
          add_along(columns, plan.columns.in, plan.inner, sums,
                    sums + plan.out_row(), dx + row * plan.in_row());
        }
      });
}

}  // namespace traingraph::cpu
