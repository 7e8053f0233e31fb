// SPDX-License-Identifier: MIT
// Shapes of a loss whose reduced axes stay with size 1, so that predictions,
// losses and weights broadcast against each other. Plain C++.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph::metal {

/// The axes that an element loss sums over: the classes, the features, none.
Shape loss_axes(LossType type, const Shape& prediction);

/// The element losses: (N, C, H, W) -> (N, 1, H, W) for losses over classes.
Shape kept_loss_shape(LossType type, const Shape& prediction);

/// Weights that broadcast to the losses without the summed axes, as a shape
/// that broadcasts to those with them: (N, H, W) -> (N, 1, H, W).
Shape kept_weights_shape(LossType type, const Shape& prediction,
                         const Shape& weights);

}  // namespace traingraph::metal
