// SPDX-License-Identifier: MIT
// Padding policies: where the windows of filter nodes lie.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/op_attrs.h"

namespace traingraph::nodes {

/// MPSNN's padding method. With k^ = (k - 1) dilation + 1 and p = -1, 0, 1 for
/// ValidOnly, Same, Full, a source of n samples gives
///   m = floor((n + p (k^ - 1) + stride - 1) / stride)
/// results, whose windows span (m - 1) stride + k^ samples. What that is more
/// than n lies outside of the image, half of it on either side when centered,
/// an odd sample where the remainder goes; what it is less is not read.
struct PaddingPolicy {
  PaddingExtent extent = PaddingExtent::Same;
  PaddingAlignment alignment = PaddingAlignment::Centered;
  /// TensorFlow's Same, where windows leave no sample out.
  PaddingRemainder remainder = PaddingRemainder::BottomRight;
  bool operator==(const PaddingPolicy&) const = default;
};

}  // namespace traingraph::nodes
