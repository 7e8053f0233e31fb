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
/// Do labels of this type name one class each?
bool are_class_indices(LossType type, DataType labels);

/// (count) or with axes of size 1 behind.
bool is_column(const Shape& shape, std::int64_t count);
bool broadcasts_to(const Shape& shape, const Shape& target);
/// (N, 1, ...) for losses of N samples.
Shape per_sample(const Shape& losses);

/// The shape of the losses before they are reduced.
Shape element_loss_shape(LossType type, const Shape& prediction);

/// `weights` as a shape that broadcasts to the element losses: itself; without
/// its axis 1 of size 1, when its rank is the prediction's; (N, 1, ...) for N
/// elements in any shape (the last two only for losses that sum over an axis).
/// Empty when the weights do not fit, or fit both samples and another axis.
std::optional<Shape> loss_weights_shape(LossType type, const Shape& prediction,
                                        const Shape& weights);

/// `labels` as a shape of the prediction's rank: the prediction's own, with
/// size 1 on axis 1 for indices of classes, when the labels have that but for
/// axes of size 1 behind the first; else, for losses of single elements, one
/// that broadcasts to the prediction. Empty when the labels do not fit, or fit
/// both samples and another axis.
std::optional<Shape> loss_labels_shape(LossType type, const Shape& prediction,
                                       const Shape& labels, bool are_indices);

/// The axes of the prediction along which those of the labels run, given `view`
/// of loss_labels_shape(); its rank for axes of size 1 that the view may lack.
Shape loss_labels_axes(const Shape& labels, const Shape& view);

}  // namespace traingraph
