// SPDX-License-Identifier: MIT
// Threads that have one row of a tensor together: one thread, a warp, or all of
// a block. What they reduce they all get, with the same bits.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

/// A reducer R has a type Total, what threads hand over to each other:
/// exchanged(total, mask) is that of the thread `mask` away.
template <class T>
inline __device__ T exchanged(T total, int mask) {
  return shuffle_xor(total, mask);
}

template <int kThreads>
struct Team {
  static constexpr int kSize = kThreads;

  static __device__ Index count() { return threads_of_grid() / kThreads; }
  static __device__ Index index() { return thread_of_grid() / kThreads; }
  static __device__ int lane() {
    return static_cast<int>(threadIdx.x) % kThreads;
  }

  /// Calls f(i) for i = 0 ... n - 1, each by a team.
  template <class F>
  static __device__ void each(Index n, F f) {
    for (Index i = index(); i < n; i += count()) f(i);
  }

  /// All totals of the team, merged in the same order each time. The whole
  /// team calls it.
  template <class R>
  static __device__ typename R::Total all(typename R::Total own) {
    using Total = typename R::Total;
    if constexpr (kThreads > 1) {
      for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        own = R::merge(own, exchanged(own, mask));
      }
    }
    if constexpr (kThreads > kWarp) own = all_of_block<R>(own);
    return own;
  }

 private:
  template <class R>
  static __device__ typename R::Total all_of_block(typename R::Total own) {
    using Total = typename R::Total;
    constexpr int kWarps = (kThreads + kWarp - 1) / kWarp;
    SHARED(Total, totals, kWarps);
    if (threadIdx.x % kWarp == 0) totals[threadIdx.x / kWarp] = own;
    barrier();
    own = totals[0];
    for (int warp = 1; warp < kWarps; ++warp) {
      own = R::merge(own, totals[warp]);
    }
    barrier();
    return own;
  }
};

}  // namespace cuda
}  // namespace traingraph
