// SPDX-License-Identifier: MIT
// Sums of what comes before along rows. Row o has its n elements from begin(o)
// on, `stride` apart.
#pragma once

#include "cuda/kernels/reducers.cuh"

namespace traingraph {
namespace cuda {

/// What the threads of the team before this one have together.
template <class Team, class R>
inline __device__ typename R::Total before(typename R::Total own) {
  using Total = typename R::Total;
  SHARED(Total, totals, Team::kSize);
  totals[Team::lane()] = own;
  barrier();
  Total total = R::neutral();
  for (int lane = 0; lane < Team::lane(); ++lane) {
    total = R::merge(total, totals[lane]);
  }
  barrier();
  return total;
}

/// A thread adds up a piece of the row, and once more from what is before it.
/// y may be x.
template <class Team, class R, bool kIsExclusive, bool kIsReverse, class T,
          class Begin>
inline __device__ void cumulative_sum(const T* x, T* y, Index rows, Index n,
                                      Index stride, Begin begin) {
  static_assert(Team::kSize != kWarp, "before() is of blocks");
  const Index piece = (n + Team::kSize - 1) / Team::kSize;
  for (Index row = Team::index(); row < rows; row += Team::count()) {
    const Index start = begin(row);
    const Index first = piece * Team::lane();
    const Index last = first + piece < n ? first + piece : n;
    const auto place = [&](Index k) {
      return start + (kIsReverse ? n - 1 - k : k) * stride;
    };
    typename R::Total total = R::neutral();
    if constexpr (Team::kSize > 1) {
      for (Index k = first; k < last; ++k) {
        total = R::merge(total, R::of(x[place(k)], k));
      }
      total = before<Team, R>(total);
    }
    for (Index k = first; k < last; ++k) {
      const Index i = place(k);
      const typename R::Total next = R::merge(total, R::of(x[i], k));
      y[i] = R::finish(kIsExclusive ? total : next, 1);
      total = next;
    }
  }
}

}  // namespace cuda
}  // namespace traingraph
