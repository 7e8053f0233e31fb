// SPDX-License-Identifier: MIT
// CUDA C++ for g++, as far as kernels use it: included before a module's text.
// It includes no header of the C++ library, which would take longer to compile
// than the kernels.
#pragma once

#include "module_interface.h"

#define __CUDACC__ 1
#define TRAINGRAPH_CUDA_EMULATOR 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __forceinline__ inline
#define __align__(bytes) alignas(bytes)

// Variables of the thread that runs, which the card sets.
cuda_emulator::Index3 threadIdx, blockIdx, blockDim, gridDim;
const cuda_emulator::Card* cuda_emulator_card;
unsigned cuda_emulator_num_begun;

using size_t = decltype(sizeof 0);

#define CUDA_EMULATOR_VECTORS(type, name, align2, align4)          \
  struct alignas(align2) name##2 { type x, y; };                   \
  struct alignas(align4) name##4 { type x, y, z, w; };             \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) {  \
    return {x, y, z, w};                                           \
  }
CUDA_EMULATOR_VECTORS(float, float, 8, 16)
CUDA_EMULATOR_VECTORS(int, int, 8, 16)
CUDA_EMULATOR_VECTORS(unsigned, uint, 8, 16)
CUDA_EMULATOR_VECTORS(unsigned short, ushort, 4, 8)
CUDA_EMULATOR_VECTORS(unsigned char, uchar, 2, 4)
#undef CUDA_EMULATOR_VECTORS

// The C library's functions, for float and double.
#define CUDA_EMULATOR_FUNCTION(name)        \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return __builtin_##name##f(x); }
CUDA_EMULATOR_FUNCTION(acos)
CUDA_EMULATOR_FUNCTION(acosh)
CUDA_EMULATOR_FUNCTION(asin)
CUDA_EMULATOR_FUNCTION(asinh)
CUDA_EMULATOR_FUNCTION(atan)
CUDA_EMULATOR_FUNCTION(atanh)
CUDA_EMULATOR_FUNCTION(cbrt)
CUDA_EMULATOR_FUNCTION(ceil)
CUDA_EMULATOR_FUNCTION(cos)
CUDA_EMULATOR_FUNCTION(cosh)
CUDA_EMULATOR_FUNCTION(erf)
CUDA_EMULATOR_FUNCTION(erfc)
CUDA_EMULATOR_FUNCTION(exp)
CUDA_EMULATOR_FUNCTION(exp2)
CUDA_EMULATOR_FUNCTION(expm1)
CUDA_EMULATOR_FUNCTION(fabs)
CUDA_EMULATOR_FUNCTION(floor)
CUDA_EMULATOR_FUNCTION(log)
CUDA_EMULATOR_FUNCTION(log1p)
CUDA_EMULATOR_FUNCTION(log2)
CUDA_EMULATOR_FUNCTION(log10)
CUDA_EMULATOR_FUNCTION(rint)
CUDA_EMULATOR_FUNCTION(round)
CUDA_EMULATOR_FUNCTION(sin)
CUDA_EMULATOR_FUNCTION(sinh)
CUDA_EMULATOR_FUNCTION(sqrt)
CUDA_EMULATOR_FUNCTION(tan)
CUDA_EMULATOR_FUNCTION(tanh)
CUDA_EMULATOR_FUNCTION(trunc)
#undef CUDA_EMULATOR_FUNCTION
#define CUDA_EMULATOR_FUNCTION(name)               \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); }
CUDA_EMULATOR_FUNCTION(atan2)
CUDA_EMULATOR_FUNCTION(copysign)
CUDA_EMULATOR_FUNCTION(fmax)
CUDA_EMULATOR_FUNCTION(fmin)
CUDA_EMULATOR_FUNCTION(fmod)
CUDA_EMULATOR_FUNCTION(pow)
#undef CUDA_EMULATOR_FUNCTION
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float rsqrt(float x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return rsqrt(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }

#define CUDA_EMULATOR_MIN_MAX(type)                         \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
CUDA_EMULATOR_MIN_MAX(int)
CUDA_EMULATOR_MIN_MAX(unsigned)
CUDA_EMULATOR_MIN_MAX(long long)
CUDA_EMULATOR_MIN_MAX(unsigned long long)
#undef CUDA_EMULATOR_MIN_MAX
inline float min(float a, float b) { return fmin(a, b); }
inline float max(float a, float b) { return fmax(a, b); }

namespace cuda_emulator {
template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof from, "a cast of bits keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace cuda_emulator

inline unsigned __float_as_uint(float x) {
  return cuda_emulator::bits_as<unsigned>(x);
}
inline int __float_as_int(float x) { return cuda_emulator::bits_as<int>(x); }
inline float __uint_as_float(unsigned x) {
  return cuda_emulator::bits_as<float>(x);
}
inline float __int_as_float(int x) { return cuda_emulator::bits_as<float>(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline float __expf(float x) { return exp(x); }
inline float __fmaf_rn(float x, float y, float z) { return fma(x, y, z); }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fdividef(float x, float y) { return x / y; }
template <class T>
inline T __ldg(const T* from) {
  return *from;
}

// What portable_cuda.cuh leaves to us. One thread runs at a time, and what it
// stores is seen.
namespace traingraph {
namespace cuda {

inline void begin_after_previous() { ++cuda_emulator_num_begun; }
inline void barrier() { cuda_emulator_card->barrier(); }

#define SHARED(type, name, count)                 \
  static char name##_declaration;                 \
  using name##_type = type[count];                \
  name##_type& name = *static_cast<name##_type*>( \
      cuda_emulator_card->shared(&name##_declaration, sizeof(name##_type)))

template <class T>
inline T* shared_memory() {
  return static_cast<T*>(cuda_emulator_card->dynamic_shared());
}
template <class T>
inline T shuffle_xor(T value, int mask) {
  T other;
  __builtin_memcpy(
      &other,
      cuda_emulator_card->exchange(
          &value, sizeof value,
          cuda_emulator_card->lane() ^ static_cast<unsigned>(mask)),
      sizeof other);
  return other;
}
inline void release_to_host() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline unsigned long long nanoseconds() {
  return cuda_emulator_card->nanoseconds();
}
inline float half_bits_to_float(unsigned short bits) {
  return static_cast<float>(cuda_emulator::bits_as<_Float16>(bits));
}
inline unsigned short float_to_half_bits(float value) {
  if (value != value) return 0x7fff;  // the card's only NaN
  return cuda_emulator::bits_as<unsigned short>(static_cast<_Float16>(value));
}

}  // namespace cuda
}  // namespace traingraph

// Calls a kernel by addresses of its parameters, as the driver does.
namespace cuda_emulator {

template <unsigned... I>
struct Numbers {};

template <class F>
struct Signature;
template <class... P>
struct Signature<void(P...)> {
  static constexpr unsigned kCount = sizeof...(P);
  static constexpr unsigned kBytes[] = {sizeof(P)..., 0};
  template <void (*kFunction)(P...), unsigned... I>
  static void call_with(void** parameters, Numbers<I...>) {
    kFunction(*static_cast<P*>(parameters[I])...);
  }
  template <void (*kFunction)(P...)>
  static void call(void** parameters) {
    call_with<kFunction>(parameters, Numbers<__integer_pack(kCount)...>());
  }
};

}  // namespace cuda_emulator

// After the text: a row for each kernel, then the module.
#define CUDA_EMULATOR_KERNEL(name, max_threads)                 \
  {#name, cuda_emulator::Signature<decltype(name)>::call<name>, \
   cuda_emulator::Signature<decltype(name)>::kCount,            \
   cuda_emulator::Signature<decltype(name)>::kBytes, max_threads},
#define CUDA_EMULATOR_MODULE(...)                                             \
  static const cuda_emulator::Kernel cuda_emulator_kernels[] = {__VA_ARGS__}; \
  extern "C" __attribute__((visibility("default")))                           \
  const cuda_emulator::Module cuda_emulator_module = {                        \
      sizeof cuda_emulator_kernels / sizeof(cuda_emulator::Kernel),           \
      cuda_emulator_kernels,                                                  \
      &cuda_emulator_card,                                                    \
      &threadIdx,                                                             \
      &blockIdx,                                                              \
      &blockDim,                                                              \
      &gridDim,                                                               \
      &cuda_emulator_num_begun};
