// SPDX-License-Identifier: MIT
// The kernels of metal/kernels, compiled as C++ for the emulator.
#include <emulator/kernels.h>

#include <cstring>

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

namespace dropout_kernel {
using namespace ::metal;
#define TRAINGRAPH_MSL(...) __VA_ARGS__
#include "metal/kernels/dropout.metal"
#undef TRAINGRAPH_MSL

namespace {

DropoutParams params_at(const void* buffer) {
  DropoutParams params;
  std::memcpy(&params, buffer, sizeof(params));
  return params;
}

const bool has_mask = emulator::register_kernel(
    "dropout_mask", [](const std::vector<void*>& buffers, unsigned position) {
      dropout_mask(static_cast<const int*>(buffers[0]),
                   static_cast<uchar*>(buffers[1]), params_at(buffers[2]),
                   position);
    });

const bool has_dropout = emulator::register_kernel(
    "dropout", [](const std::vector<void*>& buffers, unsigned position) {
      dropout(static_cast<const int*>(buffers[0]),
              static_cast<const float*>(buffers[1]),
              static_cast<float*>(buffers[2]), params_at(buffers[3]), position);
    });

}  // namespace
}  // namespace dropout_kernel
