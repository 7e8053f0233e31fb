// SPDX-License-Identifier: MIT
#include "metal/ops/loss_view.h"

#include "ops/loss_shapes.h"

namespace traingraph::metal {

Shape loss_axes(LossType type, const Shape& prediction) {
  if (sums_over_classes(type)) return {1};
  Shape axes;
  if (type != LossType::CosineDistance) return axes;
  for (int axis = 1; axis < prediction.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Shape kept_loss_shape(LossType type, const Shape& prediction) {
  Shape shape = prediction;
  for (std::int64_t axis : loss_axes(type, prediction)) {
    shape[static_cast<int>(axis)] = 1;
  }
  return shape;
}

Shape kept_weights_shape(LossType type, const Shape& prediction,
                         const Shape& weights) {
  const Shape fitting = loss_weights_shape(type, prediction, weights).value();
  const int num_summed = loss_axes(type, prediction).rank();
  const int missing = prediction.rank() - num_summed - fitting.rank();
  Shape shape = Shape::filled(prediction.rank(), 1);
  for (int i = 0; i < fitting.rank(); ++i) {
    const int axis = i + missing;  // of the losses; all but 0 lie further back
    shape[axis == 0 ? 0 : axis + num_summed] = fitting[i];
  }
  return shape;
}

}  // namespace traingraph::metal
