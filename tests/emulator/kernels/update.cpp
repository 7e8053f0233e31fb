// SPDX-License-Identifier: MIT
// The kernels of metal/kernels/update.metal, compiled as C++ for the emulator.
#include <emulator/kernels.h>

#include <cstring>

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

namespace update_kernels {
using namespace ::metal;
#define TRAINGRAPH_MSL(...) __VA_ARGS__
#include "metal/kernels/update.metal"
#undef TRAINGRAPH_MSL

namespace {

using Buffers = std::vector<void*>;

float* floats(void* buffer) { return static_cast<float*>(buffer); }

UpdateParams params_at(const void* buffer) {
  UpdateParams params;
  std::memcpy(&params, buffer, sizeof(params));
  return params;
}

const UpdateTensor* tensors_at(const void* buffer) {
  return static_cast<const UpdateTensor*>(buffer);
}

const bool has_sgd = emulator::register_kernel(
    "sgd_update", [](const Buffers& buffers, unsigned position) {
      sgd_update(floats(buffers[0]), floats(buffers[1]), floats(buffers[2]),
                 floats(buffers[5]), floats(buffers[6]), params_at(buffers[7]),
                 tensors_at(buffers[8]), position);
    });

const bool has_adam = emulator::register_kernel(
    "adam_update", [](const Buffers& buffers, unsigned position) {
      adam_update(floats(buffers[0]), floats(buffers[1]), floats(buffers[2]),
                  floats(buffers[3]), floats(buffers[4]), floats(buffers[5]),
                  floats(buffers[6]), params_at(buffers[7]),
                  tensors_at(buffers[8]), position);
    });

const bool has_rmsprop = emulator::register_kernel(
    "rmsprop_update", [](const Buffers& buffers, unsigned position) {
      rmsprop_update(floats(buffers[0]), floats(buffers[1]), floats(buffers[2]),
                     floats(buffers[3]), floats(buffers[4]), floats(buffers[5]),
                     floats(buffers[6]), params_at(buffers[7]),
                     tensors_at(buffers[8]), position);
    });

const bool has_sums = emulator::register_kernel(
    "accumulate_gradient", [](const Buffers& buffers, unsigned position) {
      accumulate_gradient(floats(buffers[0]), floats(buffers[1]),
                          floats(buffers[5]), params_at(buffers[7]),
                          tensors_at(buffers[8]), position);
    });

}  // namespace
}  // namespace update_kernels
