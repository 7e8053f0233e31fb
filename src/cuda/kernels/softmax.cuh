// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient. Row o has its n elements from
// begin(o) on, `stride` apart.
#pragma once

#include "cuda/kernels/reducers.cuh"
#include "formulas/fast_math.h"

namespace traingraph {
namespace cuda {

/// The largest element, which a NaN is, and the sum of e^(x - largest).
struct Exponentials {
  float largest, sum;
};

template <class Team, class T>
inline __device__ Exponentials exponentials(const T* x, Index n, Index stride) {
  using Largest = First<Greatest<float>>;
  float largest = Largest::neutral();
#pragma unroll 4
  for (Index k = Team::lane(); k < n; k += Team::kSize) {
    largest = Largest::merge(largest, x[k * stride]);
  }
  largest = Team::template all<Largest>(largest);
  PreciseSum sum = Sum::neutral();
#pragma unroll 4
  for (Index k = Team::lane(); k < n; k += Team::kSize) {
    sum = Sum::merge(sum, Sum::of(fast_exp(x[k * stride] - largest)));
  }
  return {largest, Team::template all<Sum>(sum).value()};
}

/// y may be x.
template <class Team, bool kIsLog, class T, class Begin>
inline __device__ void softmax(const T* x, T* y, Index rows, Index n,
                               Index stride, Begin begin) {
  for (Index row = Team::index(); row < rows; row += Team::count()) {
    const Index first = begin(row);
    const Exponentials all = exponentials<Team>(x + first, n, stride);
    const float rest = kIsLog ? log(all.sum) : 1 / all.sum;
    for (Index k = Team::lane(); k < n; k += Team::kSize) {
      const Index i = first + k * stride;
      const float shifted = x[i] - all.largest;
      y[i] = kIsLog ? shifted - rest : fast_exp(shifted) * rest;
    }
  }
}

/// `y` is softmax's result, `dy` the gradient by it; dx may be dy.
template <class Team, bool kIsLog, class T, class Begin>
inline __device__ void softmax_gradient(const T* dy, const T* y, T* dx,
                                        Index rows, Index n, Index stride,
                                        Begin begin) {
  for (Index row = Team::index(); row < rows; row += Team::count()) {
    const Index first = begin(row);
    PreciseSum sum = Sum::neutral();
#pragma unroll 4
    for (Index k = Team::lane(); k < n; k += Team::kSize) {
      const Index i = first + k * stride;
      const float each = dy[i];
      sum = Sum::merge(sum, Sum::of(kIsLog ? each : each * y[i]));
    }
    // Most of dy - sum may cancel.
    sum = Team::template all<Sum>(sum).normalized();
    for (Index k = Team::lane(); k < n; k += Team::kSize) {
      const Index i = first + k * stride;
      const float each = dy[i], result = y[i];
      dx[i] = kIsLog ? each - fast_exp(result) * sum.high
                     : result * ((each - sum.high) - sum.low);
    }
  }
}

}  // namespace cuda
}  // namespace traingraph
