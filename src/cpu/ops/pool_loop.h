// SPDX-License-Identifier: MIT
// Pooling by plain loops over row-major images, for windows that lie mostly in
// the padding. They visit samples of the image only, of which every window has
// some.
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Both pooling families in one shape.
struct PoolWindow {
  Pair kernel_sizes, strides, dilation_rates;
  Padding padding;
};

/// Max pooling of x into y, in any layout of pooling's, as it should be for NaN
/// and -infinity: oneDNN passes over both.
class NonFiniteMaxPool {
 public:
  NonFiniteMaxPool(const PoolWindow& window, const dnnl::memory::desc& x,
                   const dnnl::memory::desc& y);
  void operator()(const float* x, float* y) const;

 private:
  /// Samples per image, and where a layout has them.
  struct Place {
    std::int64_t channels, height, width;
    std::int64_t per_image, per_block, block, per_row, per_column;
    explicit Place(const dnnl::memory::desc& layout);
    std::int64_t operator()(std::int64_t image, std::int64_t position) const;
  };
  PoolWindow window_;
  std::int64_t images_;
  Place x_, y_;
};

/// inputs (x), results (y, state). The state holds, for each output, the
/// position of the winner in its image.
void lower_max_pool_loop(NodeLowering& lowering, const PoolWindow& window);
/// inputs (gradient, x, state), results (dx).
void lower_max_pool_gradient_loop(NodeLowering& lowering);
void lower_average_pool_loop(NodeLowering& lowering, const PoolWindow& window,
                             bool counts_padding);
void lower_average_pool_gradient_loop(NodeLowering& lowering,
                                      const PoolWindow& window,
                                      bool counts_padding);

}  // namespace traingraph::cpu
