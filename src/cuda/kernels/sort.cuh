// SPDX-License-Identifier: MIT
// Positions in order, so that what names the same one is side by side: sums of
// it have an order. Positions outside of their axis are taken for the one
// behind its end.
#pragma once

#include "cuda/kernels/gather.cuh"

namespace traingraph {
namespace cuda {

/// sorted[k] is position order[k] of `count`; equal ones keep their order. A
/// thread counts what is before its one, a tile of kThreads ones at a time.
template <int kThreads, class At>
inline __device__ void sort_positions(Index count, Index size, At at,
                                      int32* sorted, int32* order) {
  SHARED(int32, tile, kThreads);
  const int lane = static_cast<int>(threadIdx.x);
  const auto position = [&](Index k) {
    const Index named = at(k);
    return static_cast<int32>(is_inside(named, size) ? named : size);
  };
  for (Index first = static_cast<Index>(blockIdx.x) * kThreads; first < count;
       first += static_cast<Index>(gridDim.x) * kThreads) {
    const Index own = first + lane;
    const int32 key = own < count ? position(own) : 0;
    Index before = 0;
    for (Index begin = 0; begin < count; begin += kThreads) {
      if (begin + lane < count) tile[lane] = position(begin + lane);
      barrier();
      const int32 others = count - begin < kThreads
                               ? static_cast<int32>(count - begin)
                               : kThreads;
      for (int32 k = 0; k < others; ++k) {
        before += tile[k] < key || (tile[k] == key && begin + k < own);
      }
      barrier();
    }
    if (own < count) {
      sorted[before] = key;
      order[before] = static_cast<int32>(own);
    }
  }
}

/// The first of `count` sorted ones that is not below `position`.
inline __device__ Index lower_bound(const int32* sorted, Index count,
                                    Index position) {
  Index low = 0, high = count;
  while (low < high) {
    const Index middle = (low + high) / 2;
    if (sorted[middle] < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The range of those that are `position`.
struct Range {
  Index first, last;
};
inline __device__ Range range_of(const int32* sorted, Index count,
                                 Index position) {
  return {lower_bound(sorted, count, position),
          lower_bound(sorted, count, position + 1)};
}

/// `data` and all sources x(j) of this position.
template <class T, class Source>
inline __device__ T sorted_sum(T data, Range range, const int32* order,
                               Source x) {
  typename SumOf<T>::type sum = SumOf<T>::of(data);
#pragma unroll 4
  for (Index k = range.first; k < range.last; ++k) {
    sum = SumOf<T>::plus(sum, SumOf<T>::of(x(order[k])));
  }
  return SumOf<T>::result(sum);
}

}  // namespace cuda
}  // namespace traingraph
