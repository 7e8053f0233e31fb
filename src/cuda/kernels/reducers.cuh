// SPDX-License-Identifier: MIT
// What can be reduced. A reducer has the type of its totals, the total of
// nothing, that of one element (of()), how two join, in any order, and what the
// result of n elements is.
#pragma once

#include "cuda/kernels/convert.cuh"
#include "cuda/kernels/team.cuh"

namespace traingraph {
namespace cuda {

/// A sum and what rounding it has lost. The CPU adds up in double, of which
/// cards have few units or none worth having.
struct PreciseSum {
  float high, low;

  /// Where the sum is infinite, what was lost is NaN.
  __device__ float value() const { return low == low ? high + low : high; }
  /// The value and its error, exactly.
  __device__ PreciseSum normalized() const {
    const float sum = value();
    return {sum, sum - sum == 0 ? low - (sum - high) : 0.0f};
  }
};

inline __device__ PreciseSum plus(PreciseSum a, PreciseSum b) {
  const float sum = a.high + b.high;
  const float part = sum - a.high;
  const float lost = (a.high - (sum - part)) + (b.high - part);
  return {sum, lost + (a.low + b.low)};
}

inline __device__ PreciseSum exchanged(PreciseSum sum, int mask) {
  return {shuffle_xor(sum.high, mask), shuffle_xor(sum.low, mask)};
}

struct Sum {
  using Total = PreciseSum;
  static __device__ Total neutral() { return {0, 0}; }
  static __device__ Total of(float x, Index = 0) { return {x, 0}; }
  static __device__ Total merge(Total a, Total b) { return plus(a, b); }
  static __device__ float finish(Total total, Index) { return total.value(); }
};

struct Mean : Sum {
  static __device__ float finish(Total total, Index n) {
    const Total sum = total.normalized();
    const float count = static_cast<float>(n);
    return sum.high / count + sum.low / count;
  }
};

struct AbsoluteSum : Sum {
  static __device__ Total of(float x, Index) { return {fabs(x), 0}; }
};

struct SquareSum : Sum {
  static __device__ Total of(float x, Index) { return {x * x, 0}; }
};

/// One sum over another, of pairs.
struct PreciseRatio {
  PreciseSum over, under;
};
inline __device__ PreciseRatio exchanged(PreciseRatio sums, int mask) {
  return {exchanged(sums.over, mask), exchanged(sums.under, mask)};
}
struct Ratio {
  using Total = PreciseRatio;
  static __device__ Total neutral() { return {{0, 0}, {0, 0}}; }
  static __device__ Total of(float over, float under) {
    return {{over, 0}, {under, 0}};
  }
  static __device__ Total merge(Total a, Total b) {
    return {plus(a.over, b.over), plus(a.under, b.under)};
  }
  static __device__ float finish(Total total, Index) {
    return total.over.value() / total.under.value();
  }
};

// Of integers: sums modulo 2 to the number of their bits.
template <class T>
struct IntegerSum {
  using Total = typename Unsigned<T>::type;
  static __device__ Total neutral() { return 0; }
  static __device__ Total of(T x, Index) { return static_cast<Total>(x); }
  static __device__ Total merge(Total a, Total b) { return a + b; }
  static __device__ T finish(Total total, Index) {
    return static_cast<T>(total);
  }
};

template <class T>
struct IntegerAbsoluteSum : IntegerSum<T> {
  using Total = typename Unsigned<T>::type;
  static __device__ Total of(T x, Index) {
    const Total bits = static_cast<Total>(x);
    return x < 0 ? 0 - bits : bits;
  }
};

template <class T>
inline __device__ T lowest() {
  return IntegerRange<T>::low;
}
template <>
inline __device__ float lowest<float>() {
  return -infinity();
}
template <class T>
inline __device__ T highest() {
  return IntegerRange<T>::high;
}
template <>
inline __device__ float highest<float>() {
  return infinity();
}

// Orders. A NaN wins, as in NumPy.
template <class T>
struct Greatest {
  using Element = T;
  static __device__ T last() { return lowest<T>(); }
  static __device__ bool is_before(T a, T b) {
    return a > b || (a != a && b == b);
  }
};
template <class T>
struct Least {
  using Element = T;
  static __device__ T last() { return highest<T>(); }
  static __device__ bool is_before(T a, T b) {
    return a < b || (a != a && b == b);
  }
};

template <class Order>
struct First {
  using Total = typename Order::Element;
  static __device__ Total neutral() { return Order::last(); }
  static __device__ Total of(Total x, Index = 0) { return x; }
  static __device__ Total merge(Total a, Total b) {
    return Order::is_before(b, a) ? b : a;
  }
  static __device__ Total finish(Total total, Index) { return total; }
};

template <class T>
struct Indexed {
  T value;
  int32 index;
};
template <class T>
inline __device__ Indexed<T> exchanged(Indexed<T> total, int mask) {
  return {shuffle_xor(total.value, mask), shuffle_xor(total.index, mask)};
}

/// Its index; of equal ones the smallest.
template <class Order>
struct IndexOfFirst {
  using Total = Indexed<typename Order::Element>;
  static __device__ Total neutral() {
    return {Order::last(), IntegerRange<int32>::high};
  }
  static __device__ Total of(typename Order::Element x, Index index) {
    return {x, static_cast<int32>(index)};
  }
  static __device__ Total merge(Total a, Total b) {
    if (Order::is_before(b.value, a.value)) return b;
    if (Order::is_before(a.value, b.value)) return a;
    return b.index < a.index ? b : a;
  }
  static __device__ int32 finish(Total total, Index) { return total.index; }
};

}  // namespace cuda
}  // namespace traingraph
