// SPDX-License-Identifier: MIT
// Attribute struct of the upsample family. Include op_attrs.h instead.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/op_field.h"
#include "traingraph/types.h"

namespace traingraph {

/// `shape` has the extents of the result, (height, width) or (width): those
/// after sampling, or, of the gradient, those before. aligns_corners is for
/// linear sampling.
struct UpsampleAttrs {
  Shape shape;
  SampleMode sample_mode = SampleMode::Nearest;
  bool aligns_corners = false;
  TRAINGRAPH_FIELDS(UpsampleAttrs, TRAINGRAPH_REQUIRED(shape),
                    TRAINGRAPH_FIELD(sample_mode),
                    TRAINGRAPH_FIELD(aligns_corners))
};

}  // namespace traingraph
