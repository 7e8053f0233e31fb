// SPDX-License-Identifier: MIT
// Reductions. Each output o is of elements 0 to count - 1: elements(o)(r) is
// the total of one. These are cut into `chunks`; store(o * chunks + chunk, ...)
// gets what a chunk's ones are together. Chunks are merged in their order by
// another launch, so that a result depends on no thread's speed.
#pragma once

#include "cuda/kernels/reducers.cuh"

namespace traingraph {
namespace cuda {

/// A team has an output, or a chunk of it: neighbours along r are neighbours in
/// memory. Elements that are costly by themselves are read one by one.
template <class Team, class R, bool kIsCostly, class Elements, class Store>
inline __device__ void reduce_rows(Index outputs, Index count, Index chunks,
                                   Elements elements, Store store) {
  for (Index task = Team::index(); task < outputs * chunks;
       task += Team::count()) {
    const Index chunk = task % chunks;
    const auto element = elements(task / chunks);
    const Index last = count * (chunk + 1) / chunks;
    typename R::Total total = R::neutral();
    constexpr int kTogether = kIsCostly ? 1 : 4;
#pragma unroll kTogether
    for (Index r = count * chunk / chunks + Team::lane(); r < last;
         r += Team::kSize) {
      total = R::merge(total, element(r));
    }
    total = Team::template all<R>(total);
    if (Team::lane() == 0) store(task, total);
  }
}

/// A block has kWarp outputs that are neighbours in memory; each of its kRows
/// warps takes every kRows-th element of all of them.
template <int kRows, class R, class Elements, class Store>
inline __device__ void reduce_columns(Index outputs, Index count, Index chunks,
                                      Elements elements, Store store) {
  using Total = typename R::Total;
  SHARED(Total, totals, kRows * kWarp);
  const Index tiles = (outputs + kWarp - 1) / kWarp;
  const int row = static_cast<int>(threadIdx.x) / kWarp;
  for (Index task = blockIdx.x; task < tiles * chunks; task += gridDim.x) {
    const Index chunk = task % chunks;
    const Index o = task / chunks * kWarp + threadIdx.x % kWarp;
    Total total = R::neutral();
    if (o < outputs) {
      const auto element = elements(o);
      const Index last = count * (chunk + 1) / chunks;
#pragma unroll 4
      for (Index r = count * chunk / chunks + row; r < last; r += kRows) {
        total = R::merge(total, element(r));
      }
    }
    totals[threadIdx.x] = total;
    barrier();
    if (row == 0 && o < outputs) {
      for (int k = 1; k < kRows; ++k) {
        total = R::merge(total, totals[k * kWarp + threadIdx.x]);
      }
      store(o * chunks + chunk, total);
    }
    barrier();
  }
}

}  // namespace cuda
}  // namespace traingraph
