// SPDX-License-Identifier: MIT
// Compute kernels as C++ functions: the emulator cannot compile Metal's shading
// language, so each kernel of a library is registered here by its name.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace emulator {

/// `buffers` by index; null where nothing was set. Runs once per thread of the
/// grid; `grid_position` counts threads along x, then y, then z.
using ComputeKernel = std::function<void(const std::vector<void*>& buffers,
                                         unsigned grid_position)>;

/// Returns true, so that it can initialise a constant.
bool register_kernel(const std::string& name, ComputeKernel kernel);
/// So that a test can put another one in its place for a while.
ComputeKernel registered_kernel(const std::string& name);

}  // namespace emulator
