// SPDX-License-Identifier: MIT
// The update kernels compiled as C++: what the GPU has to give for the same
// source. Plain C++.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "metal/kernels/update.h"

namespace traingraph::metal::probes {

/// Of UpdateParams::options.
struct UpdateChoices {
  bool has_scale = false, clips = false, l1 = false, l2 = false;
  bool momentum = false, nesterov = false;
  bool amsgrad = false, decoupled_decay = false;
  bool centered = false;
};
std::uint32_t options_of(const UpdateChoices& choices);

/// A launch and its memory, one vector for each buffer.
struct UpdateRun {
  Kernel kernel = Kernel::SgdUpdate;
  UpdateParams params;
  std::vector<UpdateTensor> tensors;
  std::array<std::vector<float>, kNumUpdateBuffers> memory;
  std::uint32_t num_threads = 0;
};
/// Changes the memory.
void run_on_host(UpdateRun& run);

}  // namespace traingraph::metal::probes
