// SPDX-License-Identifier: MIT
// Element by element: y[i] = value(i). A thread takes kElements elements at a
// time, as far apart as there are threads, and reads all of them before it
// writes one: results may overwrite operands of their shape.
#pragma once

#include "cuda/kernels/convert.cuh"
#include "formulas/activation.h"
#include "formulas/arithmetic.h"

namespace traingraph {
namespace cuda {

template <int kElements, class T, class Value>
inline __device__ void map(T* y, Index n, Value value) {
  const Index step = threads_of_grid();
  for (Index first = thread_of_grid(); first < n; first += kElements * step) {
    T values[kElements];
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const Index i = first + k * step;
      if (i < n) values[k] = value(i);
    }
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const Index i = first + k * step;
      if (i < n) y[i] = values[k];
    }
  }
}

}  // namespace cuda
}  // namespace traingraph
