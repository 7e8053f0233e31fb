// SPDX-License-Identifier: MIT
// What convolution nodes become.
#pragma once

#include "convolution_weights.h"
#import "nodes.h"

namespace emulator::mpsnn {

enum class ConvolutionKind { Plain, FullyConnected, Transpose };

struct ConvolutionOptions {
  ConvolutionKind kind = ConvolutionKind::Plain;
  bool has_half_sums = false;
};

std::shared_ptr<FilterKernel> make_convolution(
    std::shared_ptr<ConvolutionWeights> weights, ConvolutionOptions options);

/// `owns_weights`: they are not those of the forward filter.
std::shared_ptr<FilterKernel> make_convolution_gradient(
    std::shared_ptr<ConvolutionWeights> weights, bool owns_weights,
    MPSNNTrainingStyle style);

}  // namespace emulator::mpsnn
