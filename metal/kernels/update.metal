// SPDX-License-Identifier: MIT
// Optimizer updates in place, for many tensors in one launch, and sums of
// gradients. In the Metal shading language.
#include <metal_stdlib>

#include "formulas/update_table.h"

using namespace metal;
using namespace traingraph::formulas;

template <class Step>
inline void update(device float* parameters, device const float* gradients,
                   device float* slots0, device float* slots1,
                   device float* slots2,
                   device const float* all_hyperparameters,
                   device const float* scales, constant UpdateCall& call,
                   constant UpdateTensor* tensors, uint id) {
  const UpdateParams params = call.params;
  const ChosenOptions options = {params.options};
  const UpdatePlace place = update_place(tensors, call.num_tensors, id);
  const UpdateTensor tensor = tensors[place.tensor];
  const Hyperparameters now =
      *reinterpret_cast<device const Hyperparameters*>(all_hyperparameters +
                                                       tensor.hyperparameters);
  const float scale = options.has(kHasScale) ? scales[tensor.scale] : 1.0f;
  if (scale < 0) return;  // this step is skipped
  const Step step(params, now, scale, options);
  const uint32 uses = Step::slots(options);
  for (uint turn = 0; turn < kElementsPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    UpdateElement e;
    e.parameter = parameters[tensor.parameter + i];
    if ((uses & 1) != 0) e.slots[0] = slots0[tensor.slots[0] + i];
    if ((uses & 2) != 0) e.slots[1] = slots1[tensor.slots[1] + i];
    if ((uses & 4) != 0) e.slots[2] = slots2[tensor.slots[2] + i];
    e = step(gradients[tensor.gradient + i], e);
    if ((uses & 1) != 0) slots0[tensor.slots[0] + i] = e.slots[0];
    if ((uses & 2) != 0) slots1[tensor.slots[1] + i] = e.slots[1];
    if ((uses & 4) != 0) slots2[tensor.slots[2] + i] = e.slots[2];
    parameters[tensor.parameter + i] = e.parameter;
  }
}

#define UPDATE(Op, name, Step)                                                \
  kernel void name(device float* parameters [[buffer(0)]],                    \
                   device const float* gradients [[buffer(1)]],               \
                   device float* slots0 [[buffer(2)]],                        \
                   device float* slots1 [[buffer(3)]],                        \
                   device float* slots2 [[buffer(4)]],                        \
                   device const float* hyperparameters [[buffer(5)]],         \
                   device const float* scales [[buffer(6)]],                  \
                   constant UpdateCall& call [[buffer(7)]],                   \
                   constant UpdateTensor* tensors [[buffer(8)]],              \
                   uint id [[thread_position_in_grid]]) {                     \
    update<Step<ChosenOptions>>(parameters, gradients, slots0, slots1, slots2, \
                                hyperparameters, scales, call, tensors, id);  \
  }
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

kernel void accumulate_gradient(device float* sums [[buffer(0)]],
                                device const float* gradients [[buffer(1)]],
                                device const float* factors [[buffer(5)]],
                                constant UpdateCall& call [[buffer(7)]],
                                constant UpdateTensor* tensors [[buffer(8)]],
                                uint id [[thread_position_in_grid]]) {
  const UpdatePlace place = update_place(tensors, call.num_tensors, id);
  const UpdateTensor tensor = tensors[place.tensor];
  const AccumulationFactors own =
      *reinterpret_cast<device const AccumulationFactors*>(
          factors + tensor.hyperparameters);
  for (uint turn = 0; turn < kElementsPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    sums[tensor.parameter + i] = accumulated(
        own, sums[tensor.parameter + i], gradients[tensor.gradient + i]);
  }
}
