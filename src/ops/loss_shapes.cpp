// SPDX-License-Identifier: MIT
#include "ops/loss_shapes.h"

#include <algorithm>

#include "ops/shape_rules.h"

namespace traingraph {
namespace {

/// (N, 1, H, W) -> (N, H, W); (N, 1, 1, 1) -> (N) for the cosine distance.
std::optional<Shape> without_reduced_axes(const Shape& weights, int losses) {
  const int num_reduced = weights.rank() - losses;
  Shape shape;
  for (int axis = 0; axis < weights.rank(); ++axis) {
    const bool is_reduced = axis >= 1 && axis <= num_reduced;
    if (!is_reduced) shape.push_back(weights[axis]);
    if (is_reduced && weights[axis] != 1) return std::nullopt;
  }
  return shape;
}

/// Axis 0, and of the others those that are longer than 1.
Shape without_ones(const Shape& shape) {
  Shape longer;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis == 0 || shape[axis] != 1) longer.push_back(shape[axis]);
  }
  return longer;
}

Shape with_leading_ones(const Shape& shape, int rank) {
  Shape padded = Shape::filled(rank - shape.rank(), 1);
  for (const std::int64_t size : shape) padded.push_back(size);
  return padded;
}

}  // namespace

bool is_column(const Shape& shape, std::int64_t count) {
  return shape.rank() > 0 && shape[0] == count && shape.num_elements() == count;
}

bool broadcasts_to(const Shape& shape, const Shape& target) {
  return broadcast_shapes(shape, target) == target;
}

Shape per_sample(const Shape& losses) {
  Shape shape = Shape::filled(losses.rank(), 1);
  shape[0] = losses[0];
  return shape;
}

bool sums_over_classes(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ||
         type == LossType::CategoricalCrossEntropy;
}

bool are_class_indices(LossType type, DataType labels) {
  return sums_over_classes(type) &&
         (labels == DataType::Int32 || labels == DataType::Int64);
}

Shape element_loss_shape(LossType type, const Shape& prediction) {
  if (type == LossType::CosineDistance) return {prediction[0]};
  if (!sums_over_classes(type)) return prediction;
  Shape shape;
  for (int axis = 0; axis < prediction.rank(); ++axis) {
    if (axis != 1) shape.push_back(prediction[axis]);
  }
  return shape;
}

std::optional<Shape> loss_weights_shape(LossType type, const Shape& prediction,
                                        const Shape& weights) {
  const Shape losses = element_loss_shape(type, prediction);
  const bool is_reduced = losses.rank() < prediction.rank();
  const std::int64_t num_samples = prediction[0];
  if (broadcasts_to(weights, losses)) {
    // (8) against (8, 8, 8): per sample or per column? A batch of another size
    // would change the answer, so none is given.
    const bool is_ambiguous = is_reduced && num_samples > 1 &&
                              weights.rank() < losses.rank() &&
                              is_column(weights, num_samples);
    if (is_ambiguous) return std::nullopt;
    return weights;
  }
  if (!is_reduced) return std::nullopt;
  if (weights.rank() == prediction.rank()) {
    const auto shape = without_reduced_axes(weights, losses.rank());
    if (shape && broadcasts_to(*shape, losses)) return shape;
  }
  if (weights.num_elements() == num_samples) return per_sample(losses);
  return std::nullopt;
}

std::optional<Shape> loss_labels_shape(LossType type, const Shape& prediction,
                                       const Shape& labels, bool are_indices) {
  Shape target = prediction;
  if (are_indices) target[1] = 1;
  if (without_ones(labels) == without_ones(target)) return target;
  if (sums_over_classes(type) || type == LossType::CosineDistance) {
    return std::nullopt;
  }
  // The answer would change here as with weights: (8) against (8, 8).
  const bool is_ambiguous = prediction[0] > 1 &&
                            labels.rank() < prediction.rank() &&
                            is_column(labels, prediction[0]);
  if (is_ambiguous || !broadcasts_to(labels, prediction)) return std::nullopt;
  return with_leading_ones(labels, prediction.rank());
}

Shape loss_labels_axes(const Shape& labels, const Shape& view) {
  const int rank = view.rank();
  Shape axes;
  const bool broadcasts =
      labels.rank() <= rank && view == with_leading_ones(labels, rank);
  if (broadcasts) {
    for (int axis = rank - labels.rank(); axis < rank; ++axis) {
      axes.push_back(axis);
    }
    return axes;
  }
  int next = 1;
  for (int axis = 0; axis < labels.rank(); ++axis) {
    if (axis == 0 || labels[axis] == 1) {
      axes.push_back(axis == 0 ? 0 : rank);
      continue;
    }
    while (view[next] == 1) ++next;
    axes.push_back(next++);
  }
  return axes;
}

}  // namespace traingraph
