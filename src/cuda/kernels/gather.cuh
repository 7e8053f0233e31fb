// SPDX-License-Identifier: MIT
// Positions that a graph computed. One outside of its axis reads inside of it,
// and what depends on it is NaN, of integers -1, and of Booleans false.
#pragma once

#include "cuda/kernels/reducers.cuh"

namespace traingraph {
namespace cuda {

template <class T>
inline __device__ T nothing() {
  return static_cast<T>(-1);
}
template <>
inline __device__ boolean nothing<boolean>() {
  return 0;
}
template <>
inline __device__ float nothing<float>() {
  return infinity() - infinity();
}
template <>
inline __device__ float16 nothing<float16>() {
  return nothing<float>();
}
template <>
inline __device__ bfloat16 nothing<bfloat16>() {
  return nothing<float>();
}

inline __device__ bool is_inside(Index at, Index size) {
  return at >= 0 && at < size;
}
inline __device__ Index inside(Index at, Index size) {
  return is_inside(at, size) ? at : 0;
}

/// What sums of T are in.
template <class T>
struct SumOf {
  using type = PreciseSum;
  static __device__ type of(T x) { return Sum::of(x); }
  static __device__ type plus(type a, type b) { return Sum::merge(a, b); }
  static __device__ T result(type sum) { return sum.value(); }
};
template <class T>
struct SumOfIntegers {
  using type = typename Unsigned<T>::type;
  static __device__ type of(T x) { return static_cast<type>(x); }
  static __device__ type plus(type a, type b) { return a + b; }
  static __device__ T result(type sum) { return static_cast<T>(sum); }
};
template <>
struct SumOf<int32> : SumOfIntegers<int32> {};
template <>
struct SumOf<int64> : SumOfIntegers<int64> {};

/// Of `count` positions at(j), those that are `position`: all sources x(j) of
/// them added to `data`.
template <class T, class At, class Source>
inline __device__ T scattered_sum(T data, Index position, Index size,
                                  Index count, At at, Source x) {
  typename SumOf<T>::type sum = SumOf<T>::of(data);
  bool are_inside = true;
  for (Index j = 0; j < count; ++j) {
    const Index named = at(j);
    are_inside = are_inside && is_inside(named, size);
    if (named == position) sum = SumOf<T>::plus(sum, SumOf<T>::of(x(j)));
  }
  return are_inside ? SumOf<T>::result(sum) : nothing<T>();
}

/// The last source of those, if there is one.
template <class T, class At, class Source>
inline __device__ T scattered_last(T data, Index position, Index size,
                                   Index count, At at, Source x) {
  Index last = -1;
  bool are_inside = true;
  for (Index j = 0; j < count; ++j) {
    const Index named = at(j);
    are_inside = are_inside && is_inside(named, size);
    if (named == position) last = j;
  }
  if (!are_inside) return nothing<T>();
  return last < 0 ? data : x(last);
}

/// Is source j the last of those that name its position?
template <class At>
inline __device__ bool is_last(Index j, Index count, At at) {
  const Index position = at(j);
  for (Index k = j + 1; k < count; ++k) {
    if (at(k) == position) return false;
  }
  return true;
}

}  // namespace cuda
}  // namespace traingraph
