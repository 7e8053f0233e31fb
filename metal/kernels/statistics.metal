// SPDX-License-Identifier: MIT
// What MPSNN leaves to data sources of normalizations: running statistics, and
// sums of the gradients of images. In the Metal shading language.
#include <metal_stdlib>

#include "formulas/moments.h"

using namespace metal;

struct MoveParams {
  float momentum;  // 1: they stay
  float scale;     // of those of the batch
  uint count;
};

struct SumParams {
  uint num_rows, count;
};

/// Running statistics, moved towards those of a batch.
kernel void move_statistics(device const float* before [[buffer(0)]],
                            device const float* batch [[buffer(1)]],
                            device float* after [[buffer(2)]],
                            constant MoveParams& params [[buffer(3)]],
                            uint id [[thread_position_in_grid]]) {
  if (id >= params.count) return;
  const float own = params.scale * batch[id];
  after[id] = traingraph::formulas::moved(before[id], own, params.momentum);
}

/// Sums of columns, one per thread: of pairs of rows, of pairs of these, and so
/// on, so that many rows cost few digits. partial[i] is the sum of 2^i rows.
kernel void sum_rows(device const float* rows [[buffer(0)]],
                     device float* sums [[buffer(1)]],
                     constant SumParams& params [[buffer(2)]],
                     uint id [[thread_position_in_grid]]) {
  if (id >= params.count) return;
  float partial[32];
  for (uint row = 0; row < params.num_rows; ++row) {
    float sum = rows[row * params.count + id];
    uint level = 0;
    for (uint bits = row; (bits & 1u) != 0; bits >>= 1) {
      sum = partial[level] + sum;
      ++level;
    }
    partial[level] = sum;
  }
  float total = 0.0f;
  uint level = 0;
  for (uint bits = params.num_rows; bits != 0; bits >>= 1) {
    if ((bits & 1u) != 0) total += partial[level];
    ++level;
  }
  sums[id] = total;
}
