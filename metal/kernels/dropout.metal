// SPDX-License-Identifier: MIT
// Dropout and its mask, with the same bits as on the CPU. In the Metal shading
// language. One thread per block of four elements.
#include <metal_stdlib>

#include "formulas/random.h"

using namespace metal;
using namespace traingraph::formulas;

inline PhiloxBlock random_block(RandomState state, DropoutCall call, uint id) {
  return dropout_block(dropout_stream(call.seed, call.stream, state), id);
}

/// 1 is kept.
kernel void dropout_mask(device const RandomState* state [[buffer(0)]],
                         device uchar* mask [[buffer(1)]],
                         constant DropoutCall& call [[buffer(2)]],
                         uint id [[thread_position_in_grid]]) {
  const PhiloxBlock block = random_block(*state, call, id);
  for (uint i = 0; i < 4 && 4 * id + i < call.count; ++i) {
    mask[4 * id + i] = is_kept(block.words[i], call.rate) ? 1 : 0;
  }
}

/// Sets dropped elements of a tensor to 0, whatever they were.
kernel void dropout(device const RandomState* state [[buffer(0)]],
                    device const float* source [[buffer(1)]],
                    device float* result [[buffer(2)]],
                    constant DropoutCall& call [[buffer(3)]],
                    uint id [[thread_position_in_grid]]) {
  const PhiloxBlock block = random_block(*state, call, id);
  for (uint i = 0; i < 4 && 4 * id + i < call.count; ++i) {
    const float kept = source[4 * id + i] * call.scale;
    result[4 * id + i] = is_kept(block.words[i], call.rate) ? kept : 0.0f;
  }
}
