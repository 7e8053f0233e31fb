// SPDX-License-Identifier: MIT
// The kernels of metal/kernels/update.metal, compiled as C++ for the emulator.
#include <emulator/kernels.h>

#include <cstring>

#include "formulas/update_table.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

namespace update_kernels {
using namespace ::metal;
#include "metal/kernels/update.metal"

namespace {

using Buffers = std::vector<void*>;

float* floats(void* buffer) { return static_cast<float*>(buffer); }

UpdateCall call_at(const void* buffer) {
  UpdateCall call;
  std::memcpy(static_cast<void*>(&call), buffer, sizeof(call));
  return call;
}

const UpdateTensor* tensors_at(const void* buffer) {
  return static_cast<const UpdateTensor*>(buffer);
}

#define UPDATE(Op, name, Step)                                                \
  const bool has_##name = emulator::register_kernel(                          \
      #name, [](const Buffers& buffers, unsigned position) {                  \
        name(floats(buffers[0]), floats(buffers[1]), floats(buffers[2]),      \
             floats(buffers[3]), floats(buffers[4]), floats(buffers[5]),      \
             floats(buffers[6]), call_at(buffers[7]), tensors_at(buffers[8]), \
             position);                                                       \
      });
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

const bool has_sums = emulator::register_kernel(
    "accumulate_gradient", [](const Buffers& buffers, unsigned position) {
      accumulate_gradient(floats(buffers[0]), floats(buffers[1]),
                          floats(buffers[5]), call_at(buffers[7]),
                          tensors_at(buffers[8]), position);
    });

}  // namespace
}  // namespace update_kernels
