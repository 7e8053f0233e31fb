// SPDX-License-Identifier: MIT
// Elements that go from place to place, by their size.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

/// Calls f(i) for i = 0 ... n - 1.
template <class F>
inline __device__ void each(Index n, F f) {
  for (Index i = thread_of_grid(); i < n; i += threads_of_grid()) f(i);
}

/// An element of these bits.
template <class T>
inline __device__ T of_bits(uint64 bits) {
  return static_cast<T>(bits);
}
template <>
inline __device__ float16 of_bits<float16>(uint64 bits) {
  float16 element;
  element.bits = static_cast<unsigned short>(bits);
  return element;
}

/// y[to] = x[from] for i = 0 ... n - 1, where place(i, from, to) says them.
template <int kElements, class T, class Place>
inline __device__ void copy(const T* x, T* y, Index n, Place place) {
  const Index step = threads_of_grid();
  for (Index first = thread_of_grid(); first < n; first += kElements * step) {
    T values[kElements];
    Index targets[kElements];
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const Index i = first + k * step;
      Index from = 0;
      if (i >= n) continue;
      place(i, from, targets[k]);
      values[k] = x[from];
    }
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      if (first + k * step < n) y[targets[k]] = values[k];
    }
  }
}

/// Planes of `rows` times `columns` elements: neighbours in y are columns, in x
/// they are rows. Both are read and written along neighbours: a tile waits in
/// shared memory in between. Blocks of kTile * 8 threads. `place` says where a
/// plane begins.
template <class T, class Place>
inline __device__ void transpose(const T* x, T* y, Index planes, Index rows,
                                 Index columns, Index x_column, Index y_row,
                                 Place place) {
  constexpr int kTile = 32, kTogether = 8;
  SHARED(T, tile, kTile * (kTile + 1));
  const Index across = (columns + kTile - 1) / kTile;
  const Index tiles = (rows + kTile - 1) / kTile * across;
  const int near = static_cast<int>(threadIdx.x) % kTile;
  const int far = static_cast<int>(threadIdx.x) / kTile;
  for (Index task = blockIdx.x; task < planes * tiles; task += gridDim.x) {
    const Index row = task % tiles / across * kTile;
    const Index column = task % tiles % across * kTile;
    Index from = 0, to = 0;
    place(task / tiles, from, to);
#pragma unroll
    for (int k = far; k < kTile; k += kTogether) {
      if (row + near < rows && column + k < columns) {
        tile[k * (kTile + 1) + near] =
            x[from + row + near + (column + k) * x_column];
      }
    }
    barrier();
#pragma unroll
    for (int k = far; k < kTile; k += kTogether) {
      if (row + k < rows && column + near < columns) {
        y[to + (row + k) * y_row + column + near] =
            tile[near * (kTile + 1) + k];
      }
    }
    barrier();
  }
}

}  // namespace cuda
}  // namespace traingraph
