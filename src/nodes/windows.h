// SPDX-License-Identifier: MIT
// Where the windows of a filter lie: PaddingPolicy as numbers.
#pragma once

#include <string>

#include "nodes/filter_builder.h"
#include "ops/window.h"
#include "traingraph/nodes/padding.h"

namespace traingraph::nodes {

/// Where windows lie on one axis; `before` and `after` are below 0 where
/// samples are not read.
struct Placement {
  std::int64_t count = 0, before = 0, after = 0;
};

enum class ImageAxis : std::uint8_t { Height, Width };

/// Places windows over n samples; count is below 1 when the kernel does not
/// fit.
Placement place_windows(const PaddingPolicy& policy, std::int64_t n,
                        const AxisWindow& window, ImageAxis axis);

/// What a kernel that n samples spread out loses at the ends; `count` is the
/// extent of the result.
Placement place_spread(const PaddingPolicy& policy, std::int64_t n,
                       const AxisWindow& window, ImageAxis axis);

/// Kernel sizes, strides and dilation rates of an image's two axes.
struct ImageWindow {
  Pair kernel_size{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  AxisWindow axis(int i) const {
    return {kernel_size[i], strides[i], dilation_rates[i]};
  }
};

/// The source with the samples gone that no window reads, and the padding that
/// the windows have on what is left.
struct PaddedSource {
  ValueId image = kNoValue;
  Padding padding{};
};
PaddedSource pad_source(FilterBuilder& builder, const PaddingPolicy& policy,
                        const ImageWindow& window);

}  // namespace traingraph::nodes
