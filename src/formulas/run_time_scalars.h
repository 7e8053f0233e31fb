// SPDX-License-Identifier: MIT
// What a compiled graph reads anew in each step: one struct for each tensor of
// such scalars, as it lies in memory on every device.
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace formulas {

/// Of an optimizer's update, float32 (4); written before each.
struct Hyperparameters {
  float learning_rate = 0;
  float corrected_rate = 0;  // for averages that began at 0 (Adam)
  float clips = 0;           // 0: gradients are not clipped
  float time_step = 0;       // the number of the update, from 1 on
};

/// Of gradients in float16, float32 (4); updates change it.
struct LossScale {
  float factor = 1;
  float growth_counter = 0;  // finite steps since the factor changed
  float skipped_steps = 0;
  float unused = 0;
};

/// Of each gradient that is added up, float32 (2).
struct AccumulationFactors {
  float keep = 0;  // of what the accumulator holds; 0: whatever that is
  float add = 1;   // of the gradient
};

/// Of dropout, int32 (4); written before each forward pass.
struct RandomState {
  uint64 seed = 0, step = 0;
};

/// The length of a tensor, whose entries have 32 bits, that holds one.
template <class Scalars>
constexpr int num_entries() {
  return sizeof(Scalars) / sizeof(uint32);
}

}  // namespace formulas
}  // namespace traingraph
