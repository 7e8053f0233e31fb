// SPDX-License-Identifier: MIT
// Pooling by plain loops over row-major images, for windows that lie mostly or
// wholly in the padding. They visit samples of the image only.
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Both pooling families in one shape.
struct PoolWindow {
  Pair kernel_sizes, strides, dilation_rates;
  Padding padding;
};

/// inputs (x), results (y, state). The state holds, for each output, the
/// position of the winner in its image; -1: the window saw only padding.
void lower_max_pool_loop(NodeLowering& lowering, const PoolWindow& window);
/// inputs (gradient, x, state), results (dx).
void lower_max_pool_gradient_loop(NodeLowering& lowering);
void lower_average_pool_loop(NodeLowering& lowering, const PoolWindow& window,
                             bool counts_padding);
void lower_average_pool_gradient_loop(NodeLowering& lowering,
                                      const PoolWindow& window,
                                      bool counts_padding);

}  // namespace traingraph::cpu
