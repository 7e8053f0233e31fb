// SPDX-License-Identifier: MIT
// Kernels of upsampling and scaling nodes.
#pragma once

#import <MPSNeuralNetwork/MPSNNResampleNodes.h>

#include "mpsnn/arithmetic/resample.h"

namespace emulator::mpsnn {

struct Upsampling {
  double factor_x = 1, factor_y = 1;
  bool is_linear = false, aligns_corners = false;
};

/// Refuses factors that are not whole and positive.
std::shared_ptr<FilterKernel> upsampling_kernel(const char* name,
                                                const Upsampling& upsampling);
/// How it was upsampled is in the state; the factors must be the same.
std::shared_ptr<FilterKernel> upsampling_gradient_kernel(const char* name,
                                                         double factor_x,
                                                         double factor_y);

/// Bilinear. The provider may be nil: all of the source fills the result.
std::shared_ptr<FilterKernel> scale_kernel(
    const char* name, const MTLSize& size,
    id<MPSImageTransformProvider> provider, id<MPSHandle> handle);

}  // namespace emulator::mpsnn
