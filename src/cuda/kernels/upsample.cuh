// SPDX-License-Identifier: MIT
// Resampled axes (ops/upsample_taps.h says which samples they are made of), and
// their adjoint, which looks for the samples that an element had a share in.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

/// y[i] = rest x[first] + weight x[second].
struct UpsampleTap {
  Index first, second;
  float rest, weight;
};

/// An axis of `in` elements that becomes one of `out`.
template <bool kIsLinear, bool kAlignsCorners>
struct UpsampleAxis {
  Index in, out;

  __device__ Index denominator() const {
    return kAlignsCorners ? (out > 1 ? out - 1 : 1) : 2 * out;
  }
  __device__ Index numerator(Index i) const {
    if (kAlignsCorners) return i * (in - 1);
    const Index at = (2 * i + 1) * in - (kIsLinear ? out : 0);
    return at > 0 ? at : 0;
  }
  __device__ Index first(Index i) const { return numerator(i) / denominator(); }
  __device__ UpsampleTap tap(Index i) const {
    const Index at = first(i), whole = denominator();
    const Index part = numerator(i) - at * whole;
    if (!kIsLinear || part == 0 || at + 1 >= in) return {at, at, 1, 0};
    const float size = static_cast<float>(whole);
    return {at, at + 1, static_cast<float>(whole - part) / size,
            static_cast<float>(part) / size};
  }
  /// The first i that may have a share of x[s].
  __device__ Index begin(Index s) const {
    Index low = 0, high = out;
    while (low < high) {
      const Index middle = (low + high) / 2;
      if (first(middle) + 1 < s) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  /// What y[i] has of x[s].
  __device__ float share(Index i, Index s) const {
    const UpsampleTap of = tap(i);
    return (of.first == s ? of.rest : 0.0f) +
           (of.second == s && of.second != of.first ? of.weight : 0.0f);
  }
};

template <class Axis, class T>
inline __device__ float upsampled(const T* image, const Axis& rows,
                                  const Axis& columns, Index row,
                                  Index column) {
  const UpsampleTap r = rows.tap(row), c = columns.tap(column);
  const auto along = [&](Index of) {
    const T* from = image + of * columns.in;
    const float first = from[c.first];
    return c.second == c.first
               ? first
               : c.rest * first + c.weight * static_cast<float>(from[c.second]);
  };
  const float first = along(r.first);
  return r.second == r.first ? first
                             : r.rest * first + r.weight * along(r.second);
}

template <class Axis, class T>
inline __device__ float upsample_slope(const T* dy, const Axis& rows,
                                       const Axis& columns, Index row,
                                       Index column) {
  float sum = 0;
  for (Index i = rows.begin(row); i < rows.out && rows.first(i) <= row; ++i) {
    const float of_row = rows.share(i, row);
    for (Index j = columns.begin(column);
         j < columns.out && columns.first(j) <= column; ++j) {
      const float share = of_row * columns.share(j, column);
      if (share != 0) {
        sum += share * static_cast<float>(dy[i * columns.out + j]);
      }
    }
  }
  return sum;
}

}  // namespace cuda
}  // namespace traingraph
