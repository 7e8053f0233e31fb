// SPDX-License-Identifier: MIT
// How losses that are no Loss op end: reduced and weighted by ops.
#pragma once

#include "layers/layer_builder.h"
#include "traingraph/enums.h"

namespace traingraph {

/// The layer's result: weight * reduce(losses), in float32. The reduction is
/// the last op but the weight, even of one number, since it says how samples
/// and processes add up (compiler/loss_reduction.h).
void add_loss_result(LayerBuilder& builder, ValueId losses,
                     ReductionType reduction, float weight);

}  // namespace traingraph
