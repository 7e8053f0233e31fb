// SPDX-License-Identifier: MIT
// Dropout by the CPU's words: a thread has the four elements of one block of
// random numbers.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"
#include "formulas/random.h"

namespace traingraph {
namespace cuda {

template <class T>
inline __device__ void drop(const T* x, const RandomState* state, T* y, Index n,
                            uint64 seed, uint32 stream, float rate,
                            float scale) {
  const DropoutStream from = dropout_stream(seed, stream, *state);
  for (Index first = 4 * thread_of_grid(); first < n;
       first += 4 * threads_of_grid()) {
    const PhiloxBlock block = dropout_block(from, first / 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Index i = first + k;
      if (i >= n) return;
      const float kept = static_cast<float>(x[i]) * scale;
      y[i] = is_kept(block.words[k], rate) ? kept : 0.0f;
    }
  }
}

}  // namespace cuda
}  // namespace traingraph
