// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Sizes of one head, and how many there are.
struct AttentionSizes {
  std::int64_t samples, heads, queries, keys, width, value_width;
  float scale;

  AttentionSizes(const AttentionAttrs& attrs, const Shape& query,
                 const Shape& value)
      : samples(query[0]),
        heads(attrs.head_count),
        queries(query[1]),
        keys(value[1]),
        width(query[2] / heads),
        value_width(value[2] / heads),
        scale(attrs.scale != 0
                  ? attrs.scale
                  : static_cast<float>(1 / std::sqrt(double(width)))) {}

  std::int64_t num_heads() const { return samples * heads; }
};

}  // namespace traingraph
