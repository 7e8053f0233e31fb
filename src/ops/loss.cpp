// SPDX-License-Identifier: MIT
// loss(prediction, labels, weights?) and loss_gradient. The result is
//   reduce(attrs.weight * weights * element_loss(prediction, labels)).
// Only the prediction has a gradient.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/loss_shapes.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

bool broadcasts_to(const Shape& shape, const Shape& target) {
  return broadcast_shapes(shape, target) == target;
}

/// (N), (N, 1), ...: one number per sample.
bool is_column(const Shape& shape, std::int64_t count) {
  return shape.rank() > 0 && shape[0] == count && shape.num_elements() == count;
}

Shape per_sample(const Shape& losses) {
  Shape shape = Shape::filled(losses.rank(), 1);
  shape[0] = losses[0];
  return shape;
}

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

void require_finite(const ShapeContext& ctx, const char* attribute, float value,
                    bool is_in_range, const char* expected) {
  ctx.require_attribute(std::isfinite(value) && is_in_range,
                        std::string(attribute) + " out of range", expected,
                        format_value(value));
}

void require_attrs(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  const auto type = static_cast<std::int32_t>(attrs.type);
  ctx.require_attribute(
      type >= 0 && type <= static_cast<std::int32_t>(LossType::Log),
      "type is no loss", "0 to 8", std::to_string(type));
  ctx.require_attribute(attrs.reduction == ReductionType::None ||
                            attrs.reduction == ReductionType::Sum ||
                            attrs.reduction == ReductionType::Mean,
                        "a loss cannot be reduced like that",
                        "none, sum or mean", format_value(attrs.reduction));
  require_finite(ctx, "weight", attrs.weight, true, "a finite number");
  require_finite(ctx, "label_smoothing", attrs.label_smoothing,
                 attrs.label_smoothing >= 0 && attrs.label_smoothing <= 1,
                 "0 to 1");
  ctx.require_positive("class_count", attrs.class_count);
  require_finite(ctx, "epsilon", attrs.epsilon, attrs.epsilon >= 0,
                 "a finite number, at least 0");
  require_finite(ctx, "delta", attrs.delta, attrs.delta > 0,
                 "a finite number above 0");
}

void require_weights_fit(const ShapeContext& ctx, int weights, LossType type,
                         const Shape& prediction) {
  const Shape& shape = ctx.shape(weights);
  if (loss_weights_shape(type, prediction, shape)) return;
  const Shape losses = element_loss_shape(type, prediction);
  const bool is_ambiguous = broadcasts_to(shape, losses);
  std::string hint = "Reshape the weights so that they broadcast.";
  if (is_ambiguous || shape.num_elements() == prediction[0]) {
    hint = "For one weight per sample use shape " +
           per_sample(losses).to_string() + ".";
  }
  ctx.fail_shape(is_ambiguous ? "weights fit both the samples and another axis"
                              : "weights do not broadcast to the losses",
                 losses.to_string(), shape.to_string(), hint);
}

/// Checks prediction, labels and weights, which start at input `first`.
Shape loss_result_shape(const ShapeContext& ctx, int first) {
  require_attrs(ctx);
  const auto& attrs = ctx.attrs<LossAttrs>();
  const bool has_samples =
      sums_over_classes(attrs.type) || attrs.type == LossType::CosineDistance;
  ctx.require_rank_at_least(first, has_samples ? 2 : 1);
  ctx.require_same_shape(first + 1, first);
  const Shape& prediction = ctx.shape(first);
  if (ctx.has(first + 2)) {
    require_weights_fit(ctx, first + 2, attrs.type, prediction);
  }
  if (attrs.reduction != ReductionType::None) return {1};
  return element_loss_shape(attrs.type, prediction);
}

void loss_shape(ShapeContext& ctx) {
  ctx.add_result(loss_result_shape(ctx, 0), DataType::Float32);
}

void loss_gradient_shape(ShapeContext& ctx) {
  ctx.require_shape(0, loss_result_shape(ctx, 1));
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

/// The axes of the prediction that the losses have.
Shape kept_axes(LossType type, int rank) {
  if (type == LossType::CosineDistance) return {0};
  Shape axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != 1 || !sums_over_classes(type)) axes.push_back(axis);
  }
  return axes;
}

/// Along which axes of the prediction those of the weights run; what
/// loss_weights_shape() says, in terms of axes.
Shape weights_axes(LossType type, const Shape& prediction,
                   const Shape& weights) {
  const Shape kept = kept_axes(type, prediction.rank());
  if (broadcasts_to(weights, element_loss_shape(type, prediction))) {
    return Shape(std::span(kept.end() - weights.rank(), kept.end()));
  }
  const bool has_all_axes =
      weights.rank() == prediction.rank() &&
      without_reduced_axes(weights, kept.rank()).has_value();
  return has_all_axes ? batch::axes_in_order(weights.rank())
                      : Shape::filled(weights.rank(), 0);
}

/// The prediction's axis, which labels and weights share; they start at input
/// `first`. Refuses a batch on an axis that one loss sums over.
BatchAxis prediction_axis(BatchContext& ctx, int first,
                          std::vector<batch::Operand> operands = {}) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  const Shape& prediction = ctx.shape(first);
  const Shape all = batch::axes_in_order(prediction.rank());
  operands.push_back({.input = first, .axes = all});
  operands.push_back({.input = first + 1, .axes = all});
  if (ctx.has(first + 2)) {
    operands.push_back(
        {.input = first + 2,
         .axes = weights_axes(attrs.type, prediction, ctx.shape(first + 2))});
  }
  const BatchAxis joined = batch::join(ctx, operands);
  const Shape kept = kept_axes(attrs.type, prediction.rank());
  if (joined && std::count(kept.begin(), kept.end(), joined.axis) == 0) {
    batch::refuse_axis(ctx, joined.axis);
  }
  return joined;
}

void loss_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  BatchAxis axis = prediction_axis(ctx, 0);
  if (!axis || attrs.reduction != ReductionType::None) return;
  const Shape kept = kept_axes(attrs.type, ctx.shape(0).rank());
  const auto* place = std::find(kept.begin(), kept.end(), axis.axis);
  axis.axis = static_cast<int>(place - kept.begin());
  ctx.set(0, axis);
}

void loss_gradient_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  const int rank = ctx.shape(1).rank();
  const bool is_reduced = attrs.reduction != ReductionType::None;
  const Shape axes = is_reduced ? Shape{rank} : kept_axes(attrs.type, rank);
  ctx.set(0, prediction_axis(ctx, 1, {{.input = 0, .axes = axes}}));
}

void loss_gradient(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  ctx.set(0, ctx.append(OpKind::LossGradient, ctx.attrs<LossAttrs>(),
                        {ctx.result_gradient(), ctx.input(0), ctx.input(1),
                         ctx.input(2)}));
}

}  // namespace

bool sums_over_classes(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ||
         type == LossType::CategoricalCrossEntropy;
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

OpDef define_loss() {
  return {.inputs = {{"prediction"},
                     {"labels", kFloat32},
                     {"weights", kFloat32, true}},
          .results = {"loss"},
          .shape_rule = loss_shape,
          .batch_rule = loss_batch,
          .gradient_rule = loss_gradient};
}

OpDef define_loss_gradient() {
  return {.inputs = {{"gradient", kFloat32},
                     {"prediction"},
                     {"labels", kFloat32},
                     {"weights", kFloat32, true}},
          .results = {"dprediction"},
          .shape_rule = loss_gradient_shape,
          .batch_rule = loss_gradient_batch,
          .no_gradient = NoGradient::Missing};
}

}  // namespace traingraph
