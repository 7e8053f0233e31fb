// SPDX-License-Identifier: MIT
// The one kernel of metal/kernels, compiled as C++ for the emulator.
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

const bool is_registered = emulator::register_kernel(
    "dropout_mask", [](const std::vector<void*>& buffers, unsigned position) {
      DropoutParams params;
      std::memcpy(&params, buffers[2], sizeof(params));
      dropout_mask(static_cast<const int*>(buffers[0]),
                   static_cast<float*>(buffers[1]), params, position);
    });

}  // namespace
}  // namespace dropout_kernel
