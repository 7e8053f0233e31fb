// SPDX-License-Identifier: MIT
// The loops of softmax, log-softmax and their gradient on row-major data seen
// as (outer, axis, inner): whole rows where inner is 1, blocks of columns
// elsewhere. Sums are in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "cpu/float_types.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
/// Positions, and rows, that the loops handle side by side.
inline constexpr std::int64_t kSoftmaxColumns = 64, kSoftmaxRows = 8;
/// Floats of the widest vector.
inline constexpr std::int64_t kWidestVector = 16;

struct SoftmaxView {
  std::int64_t outer = 1, length = 1, inner = 1;

  SoftmaxView(const Shape& shape, std::int64_t axis) : length(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

/// A double as two floats. g - sum, where most of it may cancel, keeps its
/// digits as (g - high) - low.
struct Split {
  float high, low;
  explicit Split(double sum)
      : high(static_cast<float>(sum)),
        low(std::isfinite(high) ? static_cast<float>(sum - high) : 0) {}
};

/// Calls f(offset of the first element, number of rows) for groups of rows.
template <class F>
void for_each_row_group(const SoftmaxView& view, F&& f) {
  parallel_for(
      view.outer, std::max<std::int64_t>(1, kCostlyGrain / view.length),
      [&](std::int64_t begin, std::int64_t end) {
        // Groups stay in the innermost cache.
        const std::int64_t most =
            std::clamp<std::int64_t>(2048 / view.length, 1, kSoftmaxRows);
        for (std::int64_t row = begin; row < end; row += most) {
          f(row * view.length, std::min(most, end - row));
        }
      },
      /*multiple=*/1);
}

/// The sum of f(0) ... f(n - 1): floats side by side within a block, so that
/// every float is a sum of few, and blocks in double.
template <class F>
double blockwise_sum(std::int64_t n, F f) {
  constexpr std::int64_t kBlock = 256;
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = begin; k < end; ++k) sum += f(k);
    total += sum;
  }
  return total;
}

template <class T>
float largest_of(const T* x, std::int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < n; ++k) {
    const float each = x[k];
    largest = each > largest ? each : largest;
  }
  return largest;
}

/// `count` rows of n, step by step for all, whose chains of operations then
/// overlap; y may be x. Exponentials wait in y for their sum, unless that would
/// round them: then they are computed twice.
template <class T>
void softmax_row_group(bool is_log, const T* x, T* y, std::int64_t n,
                       std::int64_t count) {
  float largest[kSoftmaxRows], rest[kSoftmaxRows];
  double sum[kSoftmaxRows];
  for (std::int64_t r = 0; r < count; ++r) {
    largest[r] = largest_of(x + r * n, n);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const T* from = x + r * n;
    T* to = y + r * n;
    const float top = largest[r];
    if (is_log || !is_exact<T>) {
      sum[r] = blockwise_sum(
          n, [=](std::int64_t k) { return fast_exp(from[k] - top); });
    } else {
      sum[r] = blockwise_sum(
          n, [=](std::int64_t k) { return to[k] = fast_exp(from[k] - top); });
    }
  }
  // The largest adds 1: the logarithm is at least 0, results at most 0.
  for (std::int64_t r = 0; r < count; ++r) {
    rest[r] = static_cast<float>(is_log ? std::log(sum[r]) : 1 / sum[r]);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const T* from = x + r * n;
    T* to = y + r * n;
    const float top = largest[r], last = rest[r];
    // The check does not look into loops that OpenMP captures.
    if (is_log) {  // NOLINT(bugprone-branch-clone)
#pragma omp simd
      for (std::int64_t k = 0; k < n; ++k) to[k] = (from[k] - top) - last;
    } else if constexpr (is_exact<T>) {
#pragma omp simd
      for (std::int64_t k = 0; k < n; ++k) to[k] *= last;
    } else {
#pragma omp simd
      for (std::int64_t k = 0; k < n; ++k) {
        to[k] = fast_exp(from[k] - top) * last;
      }
    }
  }
}

template <class T>
void softmax_rows(const SoftmaxView& view, bool is_log, const T* source,
                  T* target) {
  const std::int64_t n = view.length;
  for_each_row_group(view, [=](std::int64_t offset, std::int64_t count) {
    const T* x = source + offset;
    T* y = target + offset;
    if (n >= kWidestVector) return softmax_row_group(is_log, x, y, n, count);
    // Rows shorter than a vector are filled up with what adds nothing.
    float padded[kSoftmaxRows * kWidestVector];
    std::fill(std::begin(padded), std::end(padded),
              -std::numeric_limits<float>::infinity());
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t k = 0; k < n; ++k)
        padded[r * kWidestVector + k] = x[r * n + k];
    }
    softmax_row_group(is_log, padded, padded, kWidestVector, count);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t k = 0; k < n; ++k)
        y[r * n + k] = padded[r * kWidestVector + k];
    }
  });
}

template <class T>
void softmax_rows_gradient(const SoftmaxView& view, bool is_log,
                           const T* gradient, const T* result, T* target) {
  const std::int64_t n = view.length;
  for_each_row_group(view, [=](std::int64_t offset, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r, offset += n) {
      const T *g = gradient + offset, *y = result + offset;
      T* dx = target + offset;  // may be g
      double total = 0;
      if (is_log) {
#pragma omp simd reduction(+ : total)
        for (std::int64_t k = 0; k < n; ++k) total += g[k];
        const auto sum = static_cast<float>(total);
#pragma omp simd
        for (std::int64_t k = 0; k < n; ++k)
          dx[k] = g[k] - fast_exp(y[k]) * sum;
      } else {
#pragma omp simd reduction(+ : total)
        for (std::int64_t k = 0; k < n; ++k) {
          total += static_cast<double>(g[k]) * static_cast<double>(y[k]);
        }
        const Split sum(total);
#pragma omp simd
        for (std::int64_t k = 0; k < n; ++k) {
          dx[k] = y[k] * ((g[k] - sum.high) - sum.low);
        }
      }
    }
  });
}

/// Calls f(offset of the first element, number of columns) for blocks of
/// columns; element k of column j is at offset + k * inner + j.
template <class F>
void for_each_column_block(const SoftmaxView& view, F&& f) {
  const std::int64_t blocks =
      (view.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const std::int64_t elements =
      view.length * std::min(kSoftmaxColumns, view.inner);
  parallel_for(
      view.outer * blocks, std::max<std::int64_t>(1, kCostlyGrain / elements),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block) {
          const std::int64_t column = block % blocks * kSoftmaxColumns;
          f(block / blocks * view.length * view.inner + column,
            std::min(kSoftmaxColumns, view.inner - column));
        }
      },
      /*multiple=*/1);
}

/// As softmax_row_group, for columns.
template <class T>
void softmax_columns(const SoftmaxView& view, bool is_log, const T* source,
                     T* target) {
  for_each_column_block(view, [&](std::int64_t offset, std::int64_t count) {
    const T* x = source + offset;
    float largest[kSoftmaxColumns], rest[kSoftmaxColumns];
    double sum[kSoftmaxColumns] = {};
    std::fill_n(largest, count, -std::numeric_limits<float>::infinity());
    const std::int64_t end = view.length * view.inner;
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        const float each = x[k + j];
        largest[j] = each > largest[j] ? each : largest[j];
      }
    }
    T* y = target + offset;  // may be x
    for (std::int64_t k = 0; k < end; k += view.inner) {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        const float shifted = x[k + j] - largest[j];
        const float e = fast_exp(shifted);
        sum[j] += e;
        if constexpr (is_exact<T>) y[k + j] = is_log ? shifted : e;
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      rest[j] = static_cast<float>(is_log ? std::log(sum[j]) : 1 / sum[j]);
    }
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        if constexpr (is_exact<T>) {
          y[k + j] = is_log ? y[k + j] - rest[j] : y[k + j] * rest[j];
        } else {
          const float shifted = x[k + j] - largest[j];
          y[k + j] = is_log ? shifted - rest[j] : fast_exp(shifted) * rest[j];
        }
      }
    }
  });
}

template <class T>
void softmax_columns_gradient(const SoftmaxView& view, bool is_log,
                              const T* gradient, const T* result, T* target) {
  for_each_column_block(view, [&](std::int64_t offset, std::int64_t count) {
    const T *g = gradient + offset, *y = result + offset;
    double total[kSoftmaxColumns] = {};
    float high[kSoftmaxColumns], low[kSoftmaxColumns];
    const std::int64_t end = view.length * view.inner;
    for (std::int64_t k = 0; k < end; k += view.inner) {
      for (std::int64_t j = 0; j < count; ++j) {
        const double each = g[k + j];
        total[j] += is_log ? each : each * static_cast<double>(y[k + j]);
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const Split sum(total[j]);
      high[j] = sum.high;
      low[j] = sum.low;
    }
    T* dx = target + offset;  // may be g
    const auto store = [&](auto slope) {
      for (std::int64_t k = 0; k < end; k += view.inner) {
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) {
          dx[k + j] = slope(g[k + j], y[k + j], high[j], low[j]);
        }
      }
    };
    if (is_log) {
      store([](float dy, float log, float sum, float /*rest*/) {
        return dy - fast_exp(log) * sum;
      });
    } else {
      store([](float dy, float share, float sum, float rest) {
        return share * ((dy - sum) - rest);
      });
    }
  });
}

}  // namespace traingraph::cpu
