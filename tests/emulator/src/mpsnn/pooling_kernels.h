// SPDX-License-Identifier: MIT
// Kernels of pooling nodes. Windows lie where the forward filter's padding
// policy put them; the gradient learns that from the state.
#pragma once

#include "mpsnn/arithmetic/pooling.h"

namespace emulator::mpsnn {

std::shared_ptr<FilterKernel> pooling_kernel(const char* name, PoolType type,
                                             const Window& window);
std::shared_ptr<FilterKernel> pooling_gradient_kernel(const char* name,
                                                      PoolType type,
                                                      const Window& window);

}  // namespace emulator::mpsnn
