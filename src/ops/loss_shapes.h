// SPDX-License-Identifier: MIT
// Shapes of the loss ops, for the shape rules and for the devices' kernels.
//
// An element loss has the prediction's shape; the cross entropies over classes
// sum over axis 1, (N, C, H, W) -> (N, H, W), and the cosine distance over all
// axes but 0, (N, ...) -> (N).
#pragma once

#include <optional>

#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph {

/// Softmax and categorical cross entropy: one loss per sample and position.
bool sums_over_classes(LossType type);

/// The shape of the losses before they are reduced.
Shape element_loss_shape(LossType type, const Shape& prediction);

/// `weights` as a shape that broadcasts to the element losses: itself; without
/// its axis 1 of size 1, when its rank is the prediction's; (N, 1, ...) for N
/// elements in any shape (the last two only for losses that sum over an axis).
/// Empty when the weights do not fit, or fit both samples and another axis.
std::optional<Shape> loss_weights_shape(LossType type, const Shape& prediction,
                                        const Shape& weights);

}  // namespace traingraph
