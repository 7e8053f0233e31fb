// SPDX-License-Identifier: MIT
// The gradient of a convolution's bias, in the unit of its weights' gradient.
#pragma once

#include "cpu/cblas/im2col.h"

namespace traingraph::cpu {

/// Fuses it if the program has one; returns the argument to write it to, or -1.
int fuse_bias_gradient(UnitBuilder& unit);

/// to[channel] = the sum of its gradients; nothing where `to` is null.
void add_up_channels(const ConvolutionSizes& sizes, const float* gradient,
                     float* to);

}  // namespace traingraph::cpu
