// SPDX-License-Identifier: MIT
// Positions along an axis that is padded, or of which a window is taken.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

/// Where the position `at` of an axis of `size` elements, which may be beyond
/// its ends, has its element; -1: nowhere.
struct Blank {
  static __device__ Index position(Index at, Index size) {
    return at >= 0 && at < size ? at : -1;
  }
};

/// The edge is there again (kEdges 1) or not (0).
template <int kEdges>
struct Mirrored {
  static __device__ Index position(Index at, Index size) {
    if (at < 0) return -at - kEdges;
    return at < size ? at : 2 * (size - 1) + kEdges - at;
  }
  /// The positions that show element i: at most three, -1 for none.
  static __device__ Index count(Index, Index, Index, Index) { return 3; }
  static __device__ Index padded(Index k, Index i, Index size, Index before,
                                 Index after) {
    if (k == 0) return before + i;
    const Index at = k == 1 ? -i - kEdges : 2 * (size - 1) + kEdges - i;
    const bool is_there =
        k == 1 ? at < 0 && at >= -before : at >= size && at < size + after;
    return is_there ? before + at : -1;
  }
};

struct Replicated {
  static __device__ Index position(Index at, Index size) {
    return at < 0 ? 0 : at < size ? at : size - 1;
  }
  static __device__ Index count(Index i, Index size, Index before,
                                Index after) {
    return 1 + (i == 0 ? before : 0) + (i == size - 1 ? after : 0);
  }
  static __device__ Index padded(Index k, Index i, Index, Index before, Index) {
    return (i == 0 ? 0 : before + i) + k;
  }
};

/// Where a window of `count` elements, from `start` on `stride` apart, has
/// element `at` of the whole; -1: nowhere.
inline __device__ Index position_in_window(Index at, Index start, Index stride,
                                           Index count) {
  const Index from_start = at - start;
  if (from_start < 0 || from_start % stride != 0) return -1;
  return from_start / stride < count ? from_start / stride : -1;
}

}  // namespace cuda
}  // namespace traingraph
