// SPDX-License-Identifier: MIT
// loss(prediction, labels, weights?, class_weights?) and loss_gradient. The
// result is reduce(attrs.weight * weights * element_loss(prediction, labels)).
// Only the prediction has a gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/loss_options.h"
#include "ops/loss_shapes.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

void require_finite(const ShapeContext& ctx, const char* attribute, float value,
                    bool is_in_range, const char* expected) {
  ctx.require_attribute(std::isfinite(value) && is_in_range,
                        std::string(attribute) + " out of range", expected,
                        format_value(value));
}

void require_attrs(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  const auto type = static_cast<std::int32_t>(attrs.type);
  ctx.require_attribute(to_string(attrs.type) != "?", "type is no loss",
                        "a case of LossType", std::to_string(type));
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
  using Limits = std::numeric_limits<std::int32_t>;
  ctx.require_attribute(attrs.ignore_index >= Limits::min() &&
                            attrs.ignore_index <= Limits::max(),
                        "ignore_index out of range",
                        "a number that fits into 32 bits",
                        std::to_string(attrs.ignore_index));
  if (const auto unused = find_unused_option(attrs)) {
    ctx.require_attribute(false, unused->name + " is out of range",
                          unused->expected, unused->got);
  }
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
  } else if (sums_over_classes(type) && prediction.rank() > 1 &&
             shape.num_elements() == prediction[1]) {
    hint = "Weights of classes are class_weights.";
  }
  ctx.fail_shape(is_ambiguous ? "weights fit both the samples and another axis"
                              : "weights do not broadcast to the losses",
                 losses.to_string(), shape.to_string(), hint);
}

std::string class_labels_hint(LossType type, const Shape& prediction,
                              const Shape& labels, bool are_indices) {
  if (are_indices && labels == prediction) {
    return "Whole numbers are class indices; cast one-hot labels to float32.";
  }
  if (are_indices) {
    return "Class indices are one number per sample, without the axis of "
           "classes.";
  }
  if (loss_labels_shape(type, prediction, labels, /*are_indices=*/true)) {
    return "One-hot labels have the prediction's shape; class indices are "
           "int32 or int64.";
  }
  return "Give one-hot labels, or class indices of type int32 or int64 and "
         "shape " +
         element_loss_shape(type, prediction).to_string() + ".";
}

std::string labels_hint(LossType type, const Shape& prediction,
                        const Shape& labels, bool are_indices) {
  if (sums_over_classes(type)) {
    return class_labels_hint(type, prediction, labels, are_indices);
  }
  if (type == LossType::CosineDistance) {
    return "Each sample has one vector of labels, as long as its prediction.";
  }
  const std::string per_sample_hint = "For one label per sample use shape " +
                                      per_sample(prediction).to_string() + ".";
  if (broadcasts_to(labels, prediction)) {
    return "The labels fit both the samples and another axis. " +
           per_sample_hint;
  }
  if (is_column(labels, prediction[0])) {
    return per_sample_hint +
           " Class indices are for softmax and categorical cross-entropy.";
  }
  if (labels.rank() < prediction.rank()) {
    return "Labels of fewer axes lack some of size 1 or broadcast from the "
           "last axis, not both: reshape them to " +
           std::to_string(prediction.rank()) + " axes.";
  }
  return "Labels broadcast to the prediction, not the prediction to them.";
}

/// Labels are at input `first` + 1.
void require_labels_fit(const ShapeContext& ctx, int first) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  const Shape& prediction = ctx.shape(first);
  const Shape& labels = ctx.shape(first + 1);
  const DataType type = ctx.data_type(first + 1);
  const bool are_indices = are_class_indices(attrs.type, type);
  if (!are_indices && (bit(type) & kIndex) != 0) {
    ctx.require_data_type(first + 1, kFloat32);
  }
  const std::int64_t unset = LossAttrs{}.ignore_index;
  ctx.require_attribute(
      are_indices || attrs.ignore_index == unset,
      "ignore_index is for labels that are indices of classes",
      std::to_string(unset), std::to_string(attrs.ignore_index),
      "Give such labels the weight 0.");
  if (loss_labels_shape(attrs.type, prediction, labels, are_indices)) return;
  Shape expected = prediction;
  if (are_indices) expected = element_loss_shape(attrs.type, prediction);
  ctx.fail_shape(are_indices ? "indices of classes must have the shape of the "
                               "prediction without its axis 1"
                             : "input \"labels\" must have the shape of "
                               "\"prediction\"",
                 expected.to_string(), labels.to_string(),
                 labels_hint(attrs.type, prediction, labels, are_indices));
}

void require_class_weights_fit(const ShapeContext& ctx, int weights,
                               LossType type, const Shape& prediction) {
  ctx.require_attribute(
      sums_over_classes(type), "a loss without classes takes no class_weights",
      "softmax or categorical cross-entropy", std::string(to_string(type)));
  const Shape& shape = ctx.shape(weights);
  const Shape list{prediction[1]};
  const bool is_on_axis_1 = shape.rank() > 1 && shape[1] == prediction[1] &&
                            shape.num_elements() == prediction[1];
  if (shape == list || is_on_axis_1) return;
  ctx.fail_shape("class_weights are not one for each class",
                 list.to_string() + ", or on axis 1 with 1 for the others",
                 shape.to_string());
}

/// Smoothing uses class_count as its K. Without smoothing it must be the number
/// of classes.
void require_class_count(const ShapeContext& ctx, const Shape& prediction) {
  const auto& attrs = ctx.attrs<LossAttrs>();
  if (attrs.class_count == 1 || attrs.label_smoothing != 0) return;
  ctx.require_attribute(
      prediction[1] == attrs.class_count,
      "class_count is not that of the prediction",
      std::to_string(prediction[1]) + ", or 1: the size of axis 1",
      std::to_string(attrs.class_count));
}

/// Checks prediction, labels and weights, which start at input `first`.
Shape loss_result_shape(const ShapeContext& ctx, int first) {
  require_attrs(ctx);
  const auto& attrs = ctx.attrs<LossAttrs>();
  const bool has_samples =
      sums_over_classes(attrs.type) || attrs.type == LossType::CosineDistance;
  ctx.require_rank_at_least(first, has_samples ? 2 : 1);
  require_labels_fit(ctx, first);
  const Shape& prediction = ctx.shape(first);
  require_class_count(ctx, prediction);
  if (ctx.has(first + 2)) {
    require_weights_fit(ctx, first + 2, attrs.type, prediction);
  }
  if (ctx.has(first + 3)) {
    require_class_weights_fit(ctx, first + 3, attrs.type, prediction);
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

/// The axes of the prediction along which those of the weights run; what
/// loss_weights_shape() says, in terms of axes.
Shape weights_axes(LossType type, const Shape& prediction,
                   const Shape& weights) {
  const Shape kept = kept_axes(type, prediction.rank());
  if (broadcasts_to(weights, element_loss_shape(type, prediction))) {
    return Shape(std::span(kept.end() - weights.rank(), kept.end()));
  }
  bool has_all_axes = weights.rank() == prediction.rank();
  for (int axis = 1; has_all_axes && axis < prediction.rank(); ++axis) {
    has_all_axes = std::ranges::count(kept, axis) != 0 || weights[axis] == 1;
  }
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
  const Shape& labels = ctx.shape(first + 1);
  const bool are_indices =
      are_class_indices(attrs.type, ctx.data_type(first + 1));
  const Shape view =
      loss_labels_shape(attrs.type, prediction, labels, are_indices).value();
  operands.push_back(
      {.input = first + 1, .axes = loss_labels_axes(labels, view)});
  if (ctx.has(first + 2)) {
    operands.push_back(
        {.input = first + 2,
         .axes = weights_axes(attrs.type, prediction, ctx.shape(first + 2))});
  }
  if (ctx.has(first + 3)) {
    operands.push_back({.input = first + 3,
                        .axes = Shape::filled(ctx.shape(first + 3).rank(), 1)});
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
                         ctx.input(2), ctx.input(3)}));
}

template <int kPrediction>
std::int64_t loss_positions(const Program& program, const Node& node) {
  const auto type = std::get<LossAttrs>(node.attrs).type;
  const ValueId labels = node.inputs[kPrediction + 1];
  if (!are_class_indices(type, program.desc(labels).data_type)) return 0;
  return program.shape(node.inputs[kPrediction])[1];
}

std::int64_t loss_ignored_index(const Attributes& attrs) {
  return std::get<LossAttrs>(attrs).ignore_index;
}

const InputDef kLabelsInput{
    .name = "labels", .types = kFloat32 | kIndex, .is_index = true};

}  // namespace

OpDef define_loss() {
  return {.inputs = {{"prediction"},
                     kLabelsInput,
                     {"weights", kFloat32, true},
                     {"class_weights", kFloat32, true}},
          .results = {"loss"},
          .shape_rule = loss_shape,
          .flops = flops::per_element,
          .batch_rule = loss_batch,
          .gradient_rule = loss_gradient,
          .num_positions = loss_positions<0>,
          .ignored_index = loss_ignored_index,
          .autocast_list = AutocastList::Float32};
}

OpDef define_loss_gradient() {
  return {.inputs = {{"gradient", kFloat32},
                     {"prediction"},
                     kLabelsInput,
                     {"weights", kFloat32, true},
                     {"class_weights", kFloat32, true}},
          .results = {"dprediction"},
          .shape_rule = loss_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = loss_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .num_positions = loss_positions<1>,
          .ignored_index = loss_ignored_index,
          .autocast_list = AutocastList::Float32};
}

}  // namespace traingraph
