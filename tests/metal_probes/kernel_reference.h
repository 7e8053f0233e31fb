// SPDX-License-Identifier: MIT
// The update kernels compiled as C++: what the GPU has to give for the same
// source. Plain C++.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "metal/kernels/update.h"

namespace traingraph::metal::probes {

/// A launch and its memory, one vector for each buffer.
struct UpdateRun {
  Kernel kernel = Kernel::SgdUpdate;
  formulas::UpdateCall call{};
  std::vector<formulas::UpdateTensor> tensors;
  std::array<std::vector<float>, kNumUpdateBuffers> memory;
  std::uint32_t num_threads = 0;
};
/// Changes the memory.
void run_on_host(UpdateRun& run);

}  // namespace traingraph::metal::probes
