// SPDX-License-Identifier: MIT
// Numbers of one type as numbers of another, as base/convert.h has them: out of
// range saturates, and NaN becomes 0. Integers wrap around.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

template <class T>
struct IntegerRange;
template <>
struct IntegerRange<int8> {
  static constexpr int8 low = -128, high = 127;
};
template <>
struct IntegerRange<uint8> {
  static constexpr uint8 low = 0, high = 255;
};
template <>
struct IntegerRange<int32> {
  static constexpr int32 low = -2147483647 - 1, high = 2147483647;
};
template <>
struct IntegerRange<int64> {
  static constexpr int64 low = -9223372036854775807ll - 1,
                         high = 9223372036854775807ll;
};

template <class To>
inline __device__ To to_integer(float x) {
  using Range = IntegerRange<To>;
  if (x != x) return 0;
  if (x <= static_cast<float>(Range::low)) return Range::low;
  if (x >= static_cast<float>(Range::high)) return Range::high;
  return static_cast<To>(x);
}

template <class To, class From>
struct Conversion {
  static __device__ To of(From x) { return static_cast<To>(x); }
};
template <>
struct Conversion<int8, float> {
  static __device__ int8 of(float x) { return to_integer<int8>(x); }
};
template <>
struct Conversion<uint8, float> {
  static __device__ uint8 of(float x) { return to_integer<uint8>(x); }
};
template <>
struct Conversion<int32, float> {
  static __device__ int32 of(float x) { return to_integer<int32>(x); }
};
template <>
struct Conversion<int64, float> {
  static __device__ int64 of(float x) { return to_integer<int64>(x); }
};
template <class From>
struct Conversion<boolean, From> {
  static __device__ boolean of(From x) { return x != 0; }
};
template <class To>
struct Conversion<To, float16> {
  static __device__ To of(float16 x) { return Conversion<To, float>::of(x); }
};
template <class To>
struct Conversion<To, bfloat16> {
  static __device__ To of(bfloat16 x) { return Conversion<To, float>::of(x); }
};
template <>
struct Conversion<boolean, float16> {
  static __device__ boolean of(float16 x) { return float(x) != 0; }
};
template <>
struct Conversion<boolean, bfloat16> {
  static __device__ boolean of(bfloat16 x) { return float(x) != 0; }
};
template <class From>
struct Conversion<float16, From> {
  static __device__ float16 of(From x) { return static_cast<float>(x); }
};
template <class From>
struct Conversion<bfloat16, From> {
  static __device__ bfloat16 of(From x) { return static_cast<float>(x); }
};
template <>
struct Conversion<float16, float16> {
  static __device__ float16 of(float16 x) { return x; }
};
template <>
struct Conversion<bfloat16, bfloat16> {
  static __device__ bfloat16 of(bfloat16 x) { return x; }
};
template <>
struct Conversion<bfloat16, float16> {
  static __device__ bfloat16 of(float16 x) { return float(x); }
};
template <>
struct Conversion<float16, bfloat16> {
  static __device__ float16 of(bfloat16 x) { return float(x); }
};

template <class To, class From>
inline __device__ To convert(From x) {
  return Conversion<To, From>::of(x);
}

/// What wraps around is unsigned.
template <class T>
struct Unsigned;
template <>
struct Unsigned<int32> {
  using type = uint32;
};
template <>
struct Unsigned<int64> {
  using type = uint64;
};

namespace integers {

#define TRAINGRAPH_INTEGER(Name, formula)                          \
  template <class T>                                               \
  inline __device__ T Name(T a, T b) {                             \
    using Bits = typename Unsigned<T>::type;                       \
    const Bits x = static_cast<Bits>(a), y = static_cast<Bits>(b); \
    return static_cast<T>(formula);                                \
  }
TRAINGRAPH_INTEGER(Add, x + y)
TRAINGRAPH_INTEGER(Subtract, x - y)
TRAINGRAPH_INTEGER(Multiply, x* y)
#undef TRAINGRAPH_INTEGER

/// Cuts the fraction off. 0 where y is 0; the lowest number by -1 is itself.
template <class T>
inline __device__ T Divide(T x, T y) {
  if (y == 0) return 0;
  return y == -1 ? Subtract<T>(0, x) : x / y;
}
template <class T>
inline __device__ T Min(T x, T y) {
  return y < x ? y : x;
}
template <class T>
inline __device__ T Max(T x, T y) {
  return x < y ? y : x;
}

}  // namespace integers
}  // namespace cuda
}  // namespace traingraph
