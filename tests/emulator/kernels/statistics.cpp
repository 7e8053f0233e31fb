// SPDX-License-Identifier: MIT
// The kernels of metal/kernels/statistics.metal, compiled as C++ for the
// emulator.
#include <emulator/kernels.h>

#include <cstring>

#include "formulas/moments.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

namespace statistics_kernels {
using namespace ::metal;
#include "metal/kernels/statistics.metal"

namespace {

template <class Params>
Params params_at(const void* buffer) {
  Params params;
  std::memcpy(&params, buffer, sizeof(params));
  return params;
}

const bool has_move = emulator::register_kernel(
    "move_statistics",
    [](const std::vector<void*>& buffers, unsigned position) {
      move_statistics(static_cast<const float*>(buffers[0]),
                      static_cast<const float*>(buffers[1]),
                      static_cast<float*>(buffers[2]),
                      params_at<MoveParams>(buffers[3]), position);
    });

const bool has_sum = emulator::register_kernel(
    "sum_rows", [](const std::vector<void*>& buffers, unsigned position) {
      sum_rows(static_cast<const float*>(buffers[0]),
               static_cast<float*>(buffers[1]),
               params_at<SumParams>(buffers[2]), position);
    });

}  // namespace
}  // namespace statistics_kernels
