// SPDX-License-Identifier: MIT
// What formulas are written in: the subset that g++ and clang, NVRTC (CUDA C++,
// with --device-as-default-execution-space) and the Metal shading language read
// alike. That is C++14 with floats of 32 bits, and without exceptions,
// recursion, variables outside of functions, or references to what may lie in
// an address space other than a thread's own: formulas take and give values.
#pragma once

#if defined(__METAL_VERSION__)
#include <metal_stdlib>
// Contracted to fused multiply-adds, which compile options do not prevent,
// formulas would round otherwise than on the CPU.
#pragma METAL fp contract(off)
#elif !defined(__CUDACC__)
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#endif

namespace traingraph {
namespace formulas {

#if defined(__METAL_VERSION__)

using int32 = int;
using uint32 = uint;
using uint64 = ulong;

using metal::acos;
using metal::acosh;
using metal::asin;
using metal::asinh;
using metal::atan;
using metal::atanh;
using metal::copysign;
using metal::cos;
using metal::cosh;
using metal::exp2;
using metal::fabs;
using metal::log;
using metal::log2;
using metal::pow;
using metal::sin;
using metal::sinh;
using metal::sqrt;
using metal::tan;
using metal::tanh;

inline float infinity() { return INFINITY; }
inline uint32 bits_of(float x) { return as_type<uint>(x); }
inline float float_of(uint32 bits) { return as_type<float>(bits); }
/// The upper 32 bits of a product.
inline uint32 high_product(uint32 a, uint32 b) { return metal::mulhi(a, b); }

#elif defined(__CUDACC__)

using int32 = int;
using uint32 = unsigned int;
using uint64 = unsigned long long;

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::fabs;
using ::log;
using ::log1p;
using ::log2;
using ::pow;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;

inline float infinity() { return __uint_as_float(0x7f800000u); }
inline uint32 bits_of(float x) { return __float_as_uint(x); }
inline float float_of(uint32 bits) { return __uint_as_float(bits); }
inline uint32 high_product(uint32 a, uint32 b) { return __umulhi(a, b); }

#else

using int32 = std::int32_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::copysign;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::fabs;
using std::log;
using std::log1p;
using std::log2;
using std::pow;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

inline float infinity() { return std::numeric_limits<float>::infinity(); }
inline uint32 bits_of(float x) { return std::bit_cast<uint32>(x); }
inline float float_of(uint32 bits) { return std::bit_cast<float>(bits); }
inline uint32 high_product(uint32 a, uint32 b) {
  return static_cast<uint32>(uint64{a} * b >> 32);
}

#endif

// Of two, the first where they are equal or one is NaN. In this form g++ makes
// one instruction of each, unlike of fmin, fmax, or a conditional expression.
template <class T>
constexpr T minimum(T a, T b) {
  if (b < a) a = b;
  return a;
}
template <class T>
constexpr T maximum(T a, T b) {
  if (a < b) a = b;
  return a;
}

inline float sign(float x) {
  return static_cast<float>(x > 0) - static_cast<float>(x < 0);
}
inline float choose(bool first, float a, float b) { return first ? a : b; }

}  // namespace formulas
}  // namespace traingraph
