// SPDX-License-Identifier: MIT
// The loops of the normalizations of single samples over a SamplePlan. As in
// norm_loops.h sums are taken in float32 lanes over few rows of these, of
// differences from a value near the mean, and go on in double. To be compiled
// into parallel_for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/float_types.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/ops/norm_sample_tasks.h"
#include "lowering/plans/norm_plan.h"
#include "lowering/plans/norm_sample_plan.h"

namespace traingraph::cpu {

/// Up to three sums over [0, n) at once: terms(i, a, b, c) gives those of
/// element i, of which the first `kSums` count. Blocks go on in double. Within
/// them four terms are added before they join the sum, since each addition to
/// it waits for the one before.
template <int kSums, class Terms>
std::array<double, 3> sum_terms(std::int64_t n, Terms terms) {
  constexpr std::int64_t kBlock = NormPlan::kRows * NormPlan::kLanes;
  constexpr std::int64_t kWidestVector = 16;
  std::array<double, 3> totals{};
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    const std::int64_t step =
        (end - begin) / (4 * kWidestVector) * kWidestVector;
    float a = 0, b = 0, c = 0;
#pragma omp simd reduction(+ : a, b, c)
    for (std::int64_t i = begin; i < begin + step; ++i) {
      float x0 = 0, x1 = 0, x2 = 0, x3 = 0, y0 = 0, y1 = 0, y2 = 0, y3 = 0;
      float z0 = 0, z1 = 0, z2 = 0, z3 = 0;
      terms(i, x0, y0, z0);
      terms(i + step, x1, y1, z1);
      terms(i + 2 * step, x2, y2, z2);
      terms(i + 3 * step, x3, y3, z3);
      a += (x0 + x1) + (x2 + x3);
      if constexpr (kSums > 1) b += (y0 + y1) + (y2 + y3);
      if constexpr (kSums > 2) c += (z0 + z1) + (z2 + z3);
    }
#pragma omp simd reduction(+ : a, b, c)
    for (std::int64_t i = begin + 4 * step; i < end; ++i) {
      float x = 0, y = 0, z = 0;
      terms(i, x, y, z);
      a += x;
      if constexpr (kSums > 1) b += y;
      if constexpr (kSums > 2) c += z;
    }
    totals[0] += a;
    if constexpr (kSums > 1) totals[1] += b;
    if constexpr (kSums > 2) totals[2] += c;
  }
  return totals;
}

/// Mean and sum of squared deviations of the elements that were merged so far.
struct SampleMoments {
  double count = 0, mean = 0, squares = 0;

  void merge(const SampleMoments& other) {
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count;
    const double apart = other.mean - mean;
    squares += other.squares + apart * apart * (count * other.count / total);
    mean += apart * (other.count / total);
    count = total;
  }
  double variance() const { return squares < 0 ? 0 : squares / count; }
};

/// Of differences from `center`.
template <class T>
SampleMoments measure_around(const T* x, std::int64_t n, double center) {
  // Sums with an infinity end as such, not as NaN.
  const bool is_finite = std::fabs(center) <= std::numeric_limits<float>::max();
  const float near = is_finite ? static_cast<float>(center) : 0;
  const auto sums =
      sum_terms<2>(n, [=](std::int64_t i, float& a, float& b, float&) {
        a = x[i] - near;
        b = a * a;
      });
  const auto count = static_cast<double>(n);
  const double apart = sums[0] * (1 / count);
  return {count, near + apart, sums[1] - sums[0] * apart};
}

/// In double, element by element: where float32 cannot hold the squares.
template <class T>
SampleMoments measure_wide(const T* x, std::int64_t n) {
  const auto count = static_cast<double>(n);
  SampleMoments moments{.count = count};
  for (std::int64_t i = 0; i < n; ++i) moments.mean += x[i];
  moments.mean /= count;
  for (std::int64_t i = 0; i < n; ++i) {
    const double apart = x[i] - moments.mean;
    moments.squares += apart * apart;
  }
  return moments;
}

/// Of one piece. The first elements tell where its mean may be; where they
/// mislead by more than a deviation, the sums are taken again.
template <class T>
SampleMoments measure_piece(const T* x, std::int64_t n) {
  const std::int64_t few = std::min<std::int64_t>(n, NormPlan::kLanes);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < few; ++i) sum += x[i];
  const auto center = static_cast<float>(sum / static_cast<float>(few));
  SampleMoments moments = measure_around(x, n, center);
  const double apart = moments.mean - center;
  if (!(apart * apart * moments.count <= moments.squares)) {
    moments = measure_around(x, n, moments.mean);
  }
  return std::isfinite(moments.squares) ? moments : measure_wide(x, n);
}

/// normalized = (x - center) * scale + shift
struct RowScale {
  float center = 0, scale = 1, shift = 0;

  RowScale() = default;
  RowScale(double mean, double variance, float epsilon)
      : center(static_cast<float>(mean)) {
    const double inverse = 1 / std::sqrt(variance + epsilon);
    const double rest = mean == center ? 0 : mean - center;
    scale = static_cast<float>(inverse);
    shift = static_cast<float>(-rest * inverse);
  }

  /// normalized * weight + more
  RowScale times(float weight, float more) const {
    RowScale result = *this;
    result.scale = scale * weight;
    result.shift = shift * weight + more;
    return result;
  }
};

/// y = act(normalized * gamma + beta)
template <class T>
struct SampleAffine {
  const T* x = nullptr;
  const float *gamma = nullptr, *beta = nullptr;  // these may be null
  T* y = nullptr;
  RowFunction activation = {};  // may be none

  /// Elements `begin` to `end` of a row.
  void run(const SamplePlan& plan, std::int64_t row, const RowScale& scale,
           std::int64_t begin, std::int64_t end) const {
    T* to = y + row * plan.length();
    if (!activation.map) {
      return normalize(plan, row, scale, begin, end, to + begin);
    }
    for (; begin < end; begin += kActivatedPiece) {
      const std::int64_t n = std::min(kActivatedPiece, end - begin);
      Upcast<T> piece(to + begin);
      normalize(plan, row, scale, begin, begin + n, piece.floats());
      activation(piece.floats(), nullptr, piece.floats(), n);
      piece.store(n);
    }
  }

  /// The same without the activation; `to` is where the first of them goes.
  template <class To>
  void normalize(const SamplePlan& plan, std::int64_t row,
                 const RowScale& scale, std::int64_t begin, std::int64_t end,
                 To* to) const {
    const T* from = x + row * plan.length() + begin;
    if (plan.is_per_element) {
      return by_element(scale, begin, end - begin, from, to);
    }
    const std::int64_t inner = plan.view.inner;
    const std::int64_t first = row % plan.view.groups * plan.view.width;
    while (begin < end) {
      const std::int64_t segment = begin / inner;
      const std::int64_t n = std::min(end, (segment + 1) * inner) - begin;
      by_channel(scale, first + segment, n, from, to);
      begin += n;
      from += n;
      to += n;
    }
  }

 private:
  template <class To>
  void by_channel(const RowScale& row, std::int64_t channel, std::int64_t n,
                  const T* from, To* to) const {
    const RowScale of =
        row.times(gamma ? gamma[channel] : 1, beta ? beta[channel] : 0);
    const float center = of.center, scale = of.scale, shift = of.shift;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = (from[i] - center) * scale + shift;
    }
  }

  template <class To>
  void by_element(const RowScale& row, std::int64_t begin, std::int64_t n,
                  const T* from, To* to) const {
    const float center = row.center, scale = row.scale, shift = row.shift;
    const auto run = [=](auto f) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        to[i] = f((from[i] - center) * scale + shift, i);
      }
    };
    const float *a = gamma ? gamma + begin : nullptr,
                *b = beta ? beta + begin : nullptr;
    if (a && b) {
      run([=](float z, std::int64_t i) { return z * a[i] + b[i]; });
    } else if (a) {
      run([=](float z, std::int64_t i) { return z * a[i]; });
    } else if (b) {
      run([=](float z, std::int64_t i) { return z + b[i]; });
    } else {
      run([](float z, std::int64_t) { return z; });
    }
  }
};

}  // namespace traingraph::cpu
