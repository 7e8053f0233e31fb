// SPDX-License-Identifier: MIT
// Updates of many tensors in one launch of a kernel: the table that the host
// writes (lowering/update_table.h), and what of it a thread works on.
#pragma once

#include "formulas/portable.h"
#include "formulas/update_steps.h"

namespace traingraph {
namespace formulas {

/// What the tensors of a launch have in common.
struct UpdateCall {
  UpdateParams params;
  uint32 num_tensors = 0;
};

/// Places are in elements, from where the buffers begin.
struct UpdateTensor {
  uint64 parameter = 0, gradient = 0, slots[kMaxUpdateSlots] = {};
  uint64 hyperparameters = 0, scale = 0;
  uint32 first_chunk = 0;  // chunks are numbered through the launch
  uint32 count = 0;        // of elements
};

// A thread takes elements that are so far apart, so that neighbours among the
// threads read neighbours among the elements.
enum {
  kThreadsPerChunk = 256,
  kElementsPerThread = 4,
  kElementsPerChunk = kThreadsPerChunk * kElementsPerThread
};

/// The tensor that a thread works on, and the first of its elements there.
struct UpdatePlace {
  uint32 tensor, first;
};

template <class Tensors>
UpdatePlace update_place(Tensors tensors, uint32 num_tensors,
                         uint32 thread_id) {
  const uint32 chunk = thread_id / kThreadsPerChunk;
  uint32 low = 0;
  uint32 high = num_tensors;
  while (high - low > 1) {
    const uint32 middle = (low + high) / 2;
    if (tensors[middle].first_chunk <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const uint32 own_chunk = chunk - tensors[low].first_chunk;
  return {low, own_chunk * kElementsPerChunk + thread_id % kThreadsPerChunk};
}

}  // namespace formulas
}  // namespace traingraph
