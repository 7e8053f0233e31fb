// SPDX-License-Identifier: MIT
// What a compiled graph reads anew in each step: one struct for each tensor of
// such scalars, as it lies in memory on every device. Formulas that a
// graph is built of, too, say what they compute with (update_steps.h).
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace formulas {

/// Of an optimizer's update, float32 (4); written before each.
template <class Float>
struct HyperparametersOf {
  Float learning_rate = 0;
  Float corrected_rate = 0;  // for averages that began at 0 (Adam)
  Float clips = 0;           // 0: gradients are not clipped
  Float time_step = 0;       // the number of the update, from 1 on
};
using Hyperparameters = HyperparametersOf<float>;

/// Of gradients in float16, float32 (4); updates change it.
template <class Float>
struct LossScaleOf {
  Float factor = 1;
  Float growth_counter = 0;  // finite steps since the factor changed
  Float skipped_steps = 0;
  Float unused = 0;
};
using LossScale = LossScaleOf<float>;

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
