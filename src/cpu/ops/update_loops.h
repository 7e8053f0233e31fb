// SPDX-License-Identifier: MIT
// The loops of the optimizers: one pass over parameter, gradient and slots
// each. Only the parameter's stored type varies; all else is float32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/ops/update_row_sparse.h"
#include "cpu/ops/update_steps.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "formulas/update_steps.h"
#include "traingraph/types.h"

namespace traingraph::cpu {

/// A parameter as it is stored. Steps are computed in float32 whatever that is,
/// so that there is one loop for each step: values of 16 bits are upcast tile
/// by tile and rounded once, when they are stored.
struct StoredParameter {
  std::byte* at;
  DataType type;
};

/// A gradient as it is stored.
struct StoredGradient {
  const float* at;
  const RowSparseGradient* rows = nullptr;  // instead
};

inline constexpr std::int64_t kUpdateTile = 512;

/// Elements [first, last) as floats: themselves, or in `tile`.
float* upcast(const StoredParameter& p, std::int64_t first, std::int64_t last,
              float* tile);
void store(const StoredParameter& p, std::int64_t first, std::int64_t last,
           const float* tile);

/// Elements [first, last): as they lie, or in `tile` what is there of rows.
inline const float* dense(const StoredGradient& gradient, std::int64_t first,
                          std::int64_t last, float* tile) {
  if (!gradient.rows) return gradient.at + first;
  gradient.rows->expand(first, last, tile);
  return tile;
}

template <class Step>
void update_all(const Step& step, std::int64_t n, const StoredParameter& p,
                const StoredGradient& gradient, const Slots& slots) {
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    // Copies, so that no store can be taken for a change of them.
    const Step local = step;
    const Slots own = slots;
    const bool is_float = p.type == DataType::Float32;
    const bool is_whole = is_float && !gradient.rows;
    const std::int64_t size = is_whole ? end - begin : kUpdateTile;
    float tile[kUpdateTile], gradients[kUpdateTile];
    for (std::int64_t first = begin; first < end; first += size) {
      const std::int64_t last = std::min(first + size, end);
      float* const values = upcast(p, first, last, tile);
      const float* const g = dense(gradient, first, last, gradients);
#pragma omp simd
      for (std::int64_t i = first; i < last; ++i) {
        apply(local, g[i - first], values[i - first], own, i);
      }
      if (!is_float) store(p, first, last, tile);
    }
  });
}

/// Updates the rows that have a gradient; the others stay as they are.
template <class Step>
void update_rows(const Step& step, const RowSparseGradient& gradient,
                 float* parameter) {
  const std::int64_t width = gradient.width;
  parallel_for(
      gradient.count, std::max<std::int64_t>(1, kCheapGrain / width),
      [&](std::int64_t first, std::int64_t last) {
        const Step local = step;
        for (std::int64_t n = first; n < last; ++n) {
          const float* const sum = gradient.sums + n * width;
          float* const p = parameter + gradient.rows[n] * width;
#pragma omp simd
          for (std::int64_t i = 0; i < width; ++i)
            apply(local, sum[i], p[i], {}, i);
        }
      },
      /*multiple=*/1);
}

inline void accumulate(formulas::AccumulationFactors factors, float* sum,
                       const float* gradient, std::int64_t n) {
  parallel_for(n, kCheapGrain, [=](std::int64_t begin, std::int64_t end) {
    // A copy, of which each loop knows whether it keeps anything.
    formulas::AccumulationFactors own = factors;
    if (own.keep != 0) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        sum[i] = formulas::accumulated(own, sum[i], gradient[i]);
      }
    } else {
      own.keep = 0;
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        sum[i] = formulas::accumulated(own, sum[i], gradient[i]);
      }
    }
  });
}

}  // namespace traingraph::cpu
