// SPDX-License-Identifier: MIT
// Attribute struct of the attention family. Include op_attrs.h instead.
#pragma once

#include "traingraph/op_field.h"

namespace traingraph {

/// Scores are multiplied by `scale`; 0: by 1 / sqrt(width of a head). Weights
/// are dropped with probability `dropout`, as DropoutAttrs says for the tensor
/// (N, heads, L, S).
struct AttentionAttrs {
  std::int64_t head_count = 1;
  float scale = 0;
  float dropout = 0;
  std::int64_t seed = 0;    // 0: the platform's
  std::int64_t stream = 0;  // distinct per dropout of a graph
  TRAINGRAPH_FIELDS(AttentionAttrs, TRAINGRAPH_FIELD(head_count),
                    TRAINGRAPH_FIELD(scale), TRAINGRAPH_FIELD(dropout),
                    TRAINGRAPH_FIELD(seed), TRAINGRAPH_FIELD(stream))
};

}  // namespace traingraph
