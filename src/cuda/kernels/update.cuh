// SPDX-License-Identifier: MIT
// Optimizer updates of many tensors in one launch. Chunks of elements are
// numbered through the launch; a block has one.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"
#include "formulas/update_steps.h"

namespace traingraph {
namespace cuda {

/// As cuda/ops/update.cpp writes them.
struct UpdateEntry {
  uint64 parameter, gradient, slots[kMaxUpdateSlots];
  uint64 hyperparameters, scale;  // scale 0: there is none
  uint64 count;                   // of elements
  uint64 first_chunk;
};
enum { kUpdateThreads = 256, kChunkElements = 1024 };

template <class T>
inline __device__ T* pointer_of(uint64 address) {
  return reinterpret_cast<T*>(address);
}

/// The last entry that begins at the block or before.
inline __device__ const UpdateEntry* entry_of_block(const UpdateEntry* entries,
                                                    int count) {
  int low = 0;
  while (count - low > 1) {
    const int middle = (low + count) / 2;
    (entries[middle].first_chunk <= blockIdx.x ? low : count) = middle;
  }
  return entries + low;
}

/// Parameters are stored as T.
template <class Step, class T, class Options>
inline __device__ void update(const uint64* words, int num_entries,
                              UpdateParams params, Options options) {
  const UpdateEntry entry =
      *entry_of_block(reinterpret_cast<const UpdateEntry*>(words), num_entries);
  const float scale =
      entry.scale != 0 ? *pointer_of<const float>(entry.scale) : 1.0f;
  if (scale < 0) return;
  const Step step(params,
                  *pointer_of<const Hyperparameters>(entry.hyperparameters),
                  scale, options);
  T* const parameters = pointer_of<T>(entry.parameter);
  const float* const gradients = pointer_of<const float>(entry.gradient);
  const uint64 first =
      (blockIdx.x - entry.first_chunk) * kChunkElements + threadIdx.x;
  UpdateElement elements[kChunkElements / kUpdateThreads];
  float g[kChunkElements / kUpdateThreads];
#pragma unroll
  for (int k = 0; k < kChunkElements / kUpdateThreads; ++k) {
    const uint64 i = first + k * kUpdateThreads;
    if (i >= entry.count) continue;
    g[k] = gradients[i];
    elements[k].parameter = parameters[i];
#pragma unroll
    for (int s = 0; s < kMaxUpdateSlots; ++s) {
      if ((Step::slots(options) >> s & 1) == 0) continue;
      elements[k].slots[s] = pointer_of<const float>(entry.slots[s])[i];
    }
  }
#pragma unroll
  for (int k = 0; k < kChunkElements / kUpdateThreads; ++k) {
    const uint64 i = first + k * kUpdateThreads;
    if (i >= entry.count) continue;
    const UpdateElement e = step(g[k], elements[k]);
    parameters[i] = e.parameter;
#pragma unroll
    for (int s = 0; s < kMaxUpdateSlots; ++s) {
      if ((Step::slots(options) >> s & 1) == 0) continue;
      pointer_of<float>(entry.slots[s])[i] = e.slots[s];
    }
  }
}

}  // namespace cuda
}  // namespace traingraph
