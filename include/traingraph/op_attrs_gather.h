// SPDX-License-Identifier: MIT
// Attribute structs of the gather family. Include op_attrs.h instead.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/op_field.h"
#include "traingraph/types.h"

namespace traingraph {

/// The reduction says what becomes of elements that several sources name: the
/// last of them, with ReductionType::None, or all added up, with Sum.
struct ScatterAttrs {
  std::int64_t axis = 1;
  ReductionType reduction_type = ReductionType::None;
  TRAINGRAPH_FIELDS(ScatterAttrs, TRAINGRAPH_FIELD(axis),
                    TRAINGRAPH_FIELD(reduction_type))
};

/// padding_index of -1: none. maximum_norm of 0: none; else rows that are
/// looked up and have a larger norm, that of order p_norm, are scaled to it,
/// in training where they are stored, too.
struct EmbeddingAttrs {
  std::int64_t padding_index = -1;
  float maximum_norm = 0;
  float p_norm = 2;
  bool scales_gradient_by_frequency = false;
  bool training = true;
  TRAINGRAPH_FIELDS(EmbeddingAttrs, TRAINGRAPH_FIELD(padding_index),
                    TRAINGRAPH_FIELD(maximum_norm), TRAINGRAPH_FIELD(p_norm),
                    TRAINGRAPH_FIELD(scales_gradient_by_frequency),
                    TRAINGRAPH_FIELD(training))
};

/// `shape` is that of the weights.
struct EmbeddingGradientAttrs {
  std::int64_t padding_index = -1;
  bool scales_gradient_by_frequency = false;
  Shape shape;
  TRAINGRAPH_FIELDS(EmbeddingGradientAttrs, TRAINGRAPH_FIELD(padding_index),
                    TRAINGRAPH_FIELD(scales_gradient_by_frequency),
                    TRAINGRAPH_REQUIRED(shape))
};

}  // namespace traingraph
