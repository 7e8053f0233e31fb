// SPDX-License-Identifier: MIT
// Pooling by plain loops over row-major images, for windows that lie mostly in
// the padding. They visit samples of the image only, of which every window has
// some.
#pragma once

#include <functional>

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Both pooling families in one shape.
struct PoolWindow {
  Pair kernel_size, strides, dilation_rates;
  Padding padding;
};
template <class Attrs>
PoolWindow window_of(const Attrs& attrs) {
  return {attrs.kernel_size, attrs.strides, attrs.dilation_rates,
          attrs.padding};
}

/// Max pooling of x into y, in any layout of pooling's, as it should be where x
/// holds NaN or an infinity: oneDNN passes over NaN and -infinity. Returns what
/// is to run behind it, with x, y and the number of the tap that won each
/// window (null, or laid out as y, in `tap_bytes` each: 1 or 4); nothing
/// changes where x is finite.
using MaxPoolCorrection =
    std::function<void(const std::byte*, std::byte*, std::byte*)>;
MaxPoolCorrection correct_max_pool(const UnitBuilder& unit,
                                   const PoolWindow& window, const Layout& x,
                                   const Layout& y, std::size_t tap_bytes);

/// inputs (x), results (y, state). The state holds, for each output, the
/// position of the winner in its image.
void lower_max_pool_loop(UnitBuilder& unit, const PoolWindow& window);
/// inputs (gradient, x, state), results (dx).
void lower_max_pool_gradient_loop(UnitBuilder& unit);
void lower_average_pool_loop(UnitBuilder& unit, const PoolWindow& window,
                             bool counts_padding);
void lower_average_pool_gradient_loop(UnitBuilder& unit,
                                      const PoolWindow& window,
                                      bool counts_padding);

}  // namespace traingraph::cpu
