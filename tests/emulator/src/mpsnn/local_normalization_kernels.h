// SPDX-License-Identifier: MIT
// Kernels of normalization by a neighbourhood.
#pragma once

#include "mpsnn/arithmetic/local_normalization.h"

namespace emulator::mpsnn {

enum class LocalNormalizationType { kCrossChannel, kSpatial, kLocalContrast };

std::shared_ptr<FilterKernel> local_normalization_kernel(
    const char* name, LocalNormalizationType type,
    const LocalNormalization& normalization);
/// Across channels only the size counts: the rest is in the state.
std::shared_ptr<FilterKernel> local_normalization_gradient_kernel(
    const char* name, LocalNormalizationType type,
    const LocalNormalization& normalization);

}  // namespace emulator::mpsnn
