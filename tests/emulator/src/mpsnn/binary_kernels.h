// SPDX-License-Identifier: MIT
// Kernels of arithmetic nodes.
#pragma once

#include "mpsnn/arithmetic/binary.h"

namespace emulator::mpsnn {

/// Gradients learn the strides of both sources from it.
struct BinaryState : FilterState {
  Binary binary;
};

std::shared_ptr<FilterKernel> binary_kernel(const char* name,
                                            const Binary& binary);

struct BinaryGradientNode {
  bool is_product = false, is_secondary = false;
  double primary_scale = 1, secondary_scale = 1;
  Strides strides;
};
std::shared_ptr<FilterKernel> binary_gradient_kernel(
    const char* name, const BinaryGradientNode& node);

}  // namespace emulator::mpsnn
