// SPDX-License-Identifier: MIT
// Copies to shared memory that a thread does not wait for: as many are under
// way as shared memory holds, and none takes a register. Cards before sm_80
// copy at once.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

/// Elements that are copied as one.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Elements {
  T at[kCount];
};

#if !defined(TRAINGRAPH_CUDA_EMULATOR) && __CUDA_ARCH__ >= 800
#define TRAINGRAPH_COPIES_ASYNC 1
#endif

/// Copies kCount elements, or stores zeros where there are none.
template <int kCount, class T>
inline __device__ void copy_async(T* to, const T* from, bool is_there) {
#if defined(TRAINGRAPH_COPIES_ASYNC)
  constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  if constexpr (kBytes >= 4) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = is_there ? kBytes : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at),
                 "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
    return;
  }
#endif
  using All = Elements<T, kCount>;
  All all{};
  if (is_there) all = *reinterpret_cast<const All*>(from);
  *reinterpret_cast<All*>(to) = all;
}

/// Ends a group of copies.
inline __device__ void commit_copies() {
#if defined(TRAINGRAPH_COPIES_ASYNC)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for this thread's groups but for the last kPending.
template <int kPending>
inline __device__ void wait_for_copies() {
#if defined(TRAINGRAPH_COPIES_ASYNC)
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace cuda
}  // namespace traingraph
