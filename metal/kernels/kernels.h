// SPDX-License-Identifier: MIT
// The kernels of our own. Adding one: a case, its name, its source in
// metal/kernels, and the nodes that use it (metal/partition.h, engine_of).
#pragma once

#include <cstddef>
#include <vector>

namespace traingraph::metal {

enum class Kernel {
  DropoutMask,  // buffers: random state, mask
  Dropout,      // buffers: random state, source, result
};
inline constexpr const char* kKernelNames[] = {"dropout_mask", "dropout"};
inline constexpr int kNumKernels = 2;

/// One launch. The kernel finds `params` behind its buffers.
struct KernelLaunch {
  Kernel kernel = Kernel::DropoutMask;
  std::size_t num_threads = 0;  // at least; more do no harm
  std::vector<std::byte> params;
};

}  // namespace traingraph::metal
