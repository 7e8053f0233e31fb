// SPDX-License-Identifier: MIT
// The derivative of a loss by its labels, of plain ops: the op of a loss has
// that by the prediction alone.
#pragma once

#include "nodes/filter_builder.h"

namespace traingraph::nodes {

struct LossSources {
  ValueId prediction = kNoValue, labels = kNoValue, weights = kNoValue;
};

/// `gradient` is that of the losses of single elements, pixels or images.
ValueId label_gradient(FilterBuilder& builder, const LossAttrs& attrs,
                       const LossSources& sources, ValueId gradient);

}  // namespace traingraph::nodes
