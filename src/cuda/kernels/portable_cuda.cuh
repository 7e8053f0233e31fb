// SPDX-License-Identifier: MIT
// What every kernel has: types of elements, and what ties launches together.
// Kernels keep to this subset, which NVRTC compiles for cards, and g++ for the
// emulated one (tests/cuda_emulator), where __CUDACC__ is defined, too:
//
//   * Blocks have one dimension. barrier() is for all threads of a block.
//   * Shared memory is declared by SHARED(type, name, count) at the top of a
//     function of the kernel; shared_memory() is what the launch asked for.
//   * Threads of a warp exchange by warp_sum() and its like, all 32 at once.
//   * No atomics on floats: sums have an order.
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace cuda {

using namespace traingraph::formulas;

using Index = long long;
using int64 = long long;
using int8 = signed char;
using uint8 = unsigned char;
using boolean = bool;

enum { kWarp = 32 };

#if !defined(TRAINGRAPH_CUDA_EMULATOR)

/// Lets the next kernel be launched, whose threads wait here until all before
/// it is over and its writes are seen.
inline __device__ void begin_after_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
inline __device__ void barrier() { __syncthreads(); }
#define SHARED(type, name, count) __shared__ type name[count]
extern __shared__ uint4 traingraph_shared[];
template <class T>
inline __device__ T* shared_memory() {
  return reinterpret_cast<T*>(traingraph_shared);
}
template <class T>
inline __device__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
/// What the host sees of mapped memory: what was stored before is there.
inline __device__ void release_to_host() { __threadfence_system(); }
inline __device__ uint64 nanoseconds() {
  uint64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}
inline __device__ float half_bits_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
inline __device__ unsigned short float_to_half_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#endif

/// Floats of 16 bits, as they are stored. Arithmetic is float32's.
struct float16 {
  unsigned short bits;
  float16() = default;
  float16(float value) : bits(float_to_half_bits(value)) {}
  operator float() const { return half_bits_to_float(bits); }
};

struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  bfloat16(float value) {
    const uint32 all = bits_of(value);
    // To nearest, ties to even; a NaN stays one.
    const uint32 rounded = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    const bool is_nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<unsigned short>(is_nan ? all >> 16 | 0x40u : rounded);
  }
  operator float() const { return float_of(static_cast<uint32>(bits) << 16); }
};

/// A parameter with many numbers and addresses.
template <int kCount>
struct Words {
  uint64 at[kCount];
};

/// Of all 32 threads of a warp, in the same order for each of them.
inline __device__ float warp_sum(float value) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value += shuffle_xor(value, mask);
  }
  return value;
}

inline __device__ Index thread_of_grid() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline __device__ Index threads_of_grid() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

}  // namespace cuda
}  // namespace traingraph
