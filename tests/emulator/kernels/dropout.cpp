// SPDX-License-Identifier: MIT
// The kernels of metal/kernels, compiled as C++ for the emulator.
#include <emulator/kernels.h>

#include <cstring>

#include "formulas/random.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

namespace dropout_kernel {
using namespace ::metal;
#include "metal/kernels/dropout.metal"

namespace {

const RandomState* state_at(const void* buffer) {
  return static_cast<const RandomState*>(buffer);
}

DropoutCall call_at(const void* buffer) {
  DropoutCall call;
  std::memcpy(static_cast<void*>(&call), buffer, sizeof(call));
  return call;
}

const bool has_mask = emulator::register_kernel(
    "dropout_mask", [](const std::vector<void*>& buffers, unsigned position) {
      dropout_mask(state_at(buffers[0]), static_cast<uchar*>(buffers[1]),
                   call_at(buffers[2]), position);
    });

const bool has_dropout = emulator::register_kernel(
    "dropout", [](const std::vector<void*>& buffers, unsigned position) {
      dropout(state_at(buffers[0]), static_cast<const float*>(buffers[1]),
              static_cast<float*>(buffers[2]), call_at(buffers[3]), position);
    });

}  // namespace
}  // namespace dropout_kernel
