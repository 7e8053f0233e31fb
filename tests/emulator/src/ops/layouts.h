// SPDX-License-Identifier: MIT
// Named layouts and padding styles, as convolution, pooling and resizing read
// them.
#pragma once

#include "checks.h"

namespace emulator {

/// Which axis of a rank-4 tensor is what. Data: batch and channel; weights:
/// output and input channel.
struct Layout {
  std::size_t first, second, height, width;
};
Layout data_layout(const char* op, MPSGraphTensorNamedDataLayout layout);
Layout weights_layout(const char* op, MPSGraphTensorNamedDataLayout layout);

/// One spatial axis of a window operation.
struct Extent {
  std::int64_t source, kernel, stride, dilation;
  std::int64_t before = 0, after = 0;  // explicit padding
  bool rounds_up = false;
};
struct Placement {
  std::int64_t result, before;
};
/// Length of the result and the padding before the source.
Placement place(const char* op, const Extent& extent,
                MPSGraphPaddingStyle style);

}  // namespace emulator
