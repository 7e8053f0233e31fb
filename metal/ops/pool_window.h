// SPDX-License-Identifier: MIT
// Pooling windows without the taps that never meet the image: kernels, dilation
// rates and padding far larger than the image become as small as it is.
#pragma once

#include "ops/window.h"

namespace traingraph::metal {

/// `window` on an axis of `in` samples, all of whose windows read some. The
/// result has the same number of windows, which read the same samples.
struct TrimmedAxis {
  AxisWindow window;
  AxisPadding padding;
};
TrimmedAxis trim_axis(std::int64_t in, AxisWindow window, AxisPadding padding);

/// Both axes of the image (N, C, H, W).
Window2d trim_window(const Window2d& window, const Shape& image);

}  // namespace traingraph::metal
