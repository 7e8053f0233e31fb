// SPDX-License-Identifier: MIT
// Loops of the embedding: rows of weights (count, width) by `num_tokens`
// indices. Threads own rows, or columns of all rows, and take the tokens in
// their order, so the number of threads changes no bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/float_types.h"
#include "cpu/parallel.h"

namespace traingraph::cpu {

struct EmbeddingPlan {
  std::int64_t count = 1, width = 1, num_tokens = 1;
  std::int64_t padding_index = -1;  // -1: none
  std::int64_t grain() const {
    return std::max<std::int64_t>(1, kCheapGrain / width);
  }
};

/// Scales rows whose norm of order `p` is larger than `most` to it.
struct MaximumNorm {
  double most = 0, p = 2;

  template <class T>
  double norm(const T* row, std::int64_t width) const {
    const auto total = [&](auto&& of) {
      double sum = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        sum += of(static_cast<double>(static_cast<float>(row[i])));
      }
      return sum;
    };
    if (p == 2) return std::sqrt(total([](double x) { return x * x; }));
    if (p == 1) return total([](double x) { return std::abs(x); });
    double largest = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const double x =
          std::abs(static_cast<double>(static_cast<float>(row[i])));
      largest = x > largest || std::isnan(x) ? x : largest;
    }
    // Powers of the elements themselves may be out of the range of double.
    const bool has_powers = largest > 0 && std::isfinite(largest);
    if (std::isinf(p) || !has_powers) return largest;
    const double sum =
        total([&](double x) { return std::pow(std::abs(x) / largest, p); });
    return largest * std::pow(sum, 1 / p);
  }

  /// 1 where nothing is to be done. PyTorch's divisor, with which a row that
  /// was scaled is not, as a rule, scaled again.
  template <class T>
  double scale(const T* row, std::int64_t width) const {
    const double size = norm(row, width);
    return size > most ? most / (size + 1e-7) : 1;
  }
};

template <class T>
void scale_row(const T* from, T* to, std::int64_t width, double scale) {
  for (std::int64_t i = 0; i < width; ++i) {
    to[i] = static_cast<float>(static_cast<float>(from[i]) * scale);
  }
}

/// Scales each row that is named, once. `is_done` holds a byte per row.
template <class T, class I>
void renormalize(const EmbeddingPlan& plan, const MaximumNorm& norm,
                 const I* at, T* weights, std::uint8_t* is_done) {
  const auto own_rows = [&](std::int64_t first, std::int64_t last) {
    std::fill(is_done + first, is_done + last, std::uint8_t{0});
    for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
      const std::int64_t row = at[k];
      if (row < first || row >= last || is_done[row] != 0) continue;
      is_done[row] = 1;
      T* const values = weights + row * plan.width;
      const double scale = norm.scale(values, plan.width);
      if (scale != 1) scale_row(values, values, plan.width, scale);
    }
  };
  // A share looks at every token: more of them only with enough to do each.
  const std::int64_t work = plan.num_tokens * plan.width;
  const std::int64_t shares = std::max<std::int64_t>(1, work / kCheapGrain);
  parallel_for(plan.count, std::max<std::int64_t>(1, plan.count / shares),
               own_rows);
}

/// y[k] = weights[at[k]]
template <class T, class I>
void look_up(const EmbeddingPlan& plan, const T* weights, const I* at, T* y) {
  parallel_for(
      plan.num_tokens, plan.grain(),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) {
          std::copy_n(weights + at[k] * plan.width, plan.width,
                      y + k * plan.width);
        }
      },
      /*multiple=*/1);
}

/// Scales the rows that it reads to the maximum norm; the weights stay.
template <class T, class I>
void look_up_scaled(const EmbeddingPlan& plan, const MaximumNorm& norm,
                    const T* weights, const I* at, T* y) {
  parallel_for(
      plan.num_tokens, plan.grain(),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) {
          const T* row = weights + at[k] * plan.width;
          T* to = y + k * plan.width;
          const double scale = norm.scale(row, plan.width);
          if (scale != 1) {
            scale_row(row, to, plan.width, scale);
          } else {
            std::copy_n(row, plan.width, to);
          }
        }
      },
      /*multiple=*/1);
}

/// Adds up the gradients of each row's tokens. `sums` as add_sums() gives them.
template <class T, class I>
void add_tokens(const EmbeddingPlan& plan, const T* gradient, const I* at,
                float* sums) {
  parallel_for(plan.count * plan.width, kCheapGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 std::fill(sums + begin, sums + end, 0.0f);
               });
  const std::int64_t grain =
      std::max<std::int64_t>(1, kCheapGrain / plan.num_tokens);
  parallel_for(plan.width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
      if (at[k] == plan.padding_index) continue;
      const T* from = gradient + k * plan.width;
      float* to = sums + at[k] * plan.width;
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] += static_cast<float>(from[i]);
      }
    }
  });
}

/// Divides each row by how often it was looked up. `times` has one per row.
template <class I>
void divide_by_frequency(const EmbeddingPlan& plan, const I* at,
                         std::int64_t* times, float* sums) {
  std::fill_n(times, plan.count, std::int64_t{0});
  for (std::int64_t k = 0; k < plan.num_tokens; ++k) ++times[at[k]];
  parallel_for(
      plan.count, plan.grain(),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          if (times[row] < 2) continue;
          const auto divisor = static_cast<float>(times[row]);
          float* const sum = sums + row * plan.width;
          for (std::int64_t i = 0; i < plan.width; ++i) sum[i] /= divisor;
        }
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
