// SPDX-License-Identifier: MIT
// yolo_loss(prediction, labels, anchors) and yolo_loss_gradient: one loss per
// sample; yolo_loss.h of the public headers has the formula. Only the
// prediction has a gradient.
#include <cmath>
#include <string>

#include "base/format.h"
#include "formulas/yolo.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

void require_scale(const ShapeContext& ctx, const char* attribute,
                   float value) {
  ctx.require_attribute(std::isfinite(value) && value >= 0,
                        std::string(attribute) + " out of range",
                        "a finite number, at least 0", format_value(value));
}

void require_share(const ShapeContext& ctx, const char* attribute,
                   float value) {
  ctx.require_attribute(value >= 0 && value <= 1,
                        std::string(attribute) + " out of range", "0 to 1",
                        format_value(value));
}

void require_yolo_attrs(const ShapeContext& ctx) {
  const auto& a = ctx.attrs<YoloLossAttrs>();
  require_scale(ctx, "scale_spatial_position_loss",
                a.scale_spatial_position_loss);
  require_scale(ctx, "scale_spatial_size_loss", a.scale_spatial_size_loss);
  require_scale(ctx, "scale_no_object_confidence_loss",
                a.scale_no_object_confidence_loss);
  require_scale(ctx, "scale_object_confidence_loss",
                a.scale_object_confidence_loss);
  require_scale(ctx, "scale_class_loss", a.scale_class_loss);
  require_share(ctx, "minimum_iou_for_object_presence",
                a.minimum_iou_for_object_presence);
  require_share(ctx, "maximum_iou_for_object_absence",
                a.maximum_iou_for_object_absence);
  ctx.require_attribute(
      a.maximum_iou_for_object_absence <= a.minimum_iou_for_object_presence,
      "maximum_iou_for_object_absence is above the minimum for presence",
      "at most " + format_value(a.minimum_iou_for_object_presence),
      format_value(a.maximum_iou_for_object_absence));
}

/// Checks prediction, labels and anchors, which start at input `first`.
Shape yolo_result_shape(const ShapeContext& ctx, int first) {
  require_yolo_attrs(ctx);
  ctx.require_rank(first, 4);
  ctx.require_same_shape(first + 1, first);
  ctx.require_rank(first + 2, 2);
  const Shape& prediction = ctx.shape(first);
  const Shape& anchors = ctx.shape(first + 2);
  if (anchors[1] != 2) {
    ctx.fail_shape("anchors are not width and height each",
                   Shape{anchors[0], 2}.to_string(), anchors.to_string());
  }
  const std::int64_t count = anchors[0];
  if (prediction[1] % count != 0 ||
      prediction[1] / count <= formulas::yolo::kClasses) {
    ctx.fail_shape(
        "the prediction has no channels for " + std::to_string(count) +
            " anchors",
        std::to_string(count) + " * (" +
            std::to_string(formulas::yolo::kClasses) +
            " + the number of classes) on axis 1",
        prediction.to_string(),
        "Each anchor has x, y, width, height, confidence and at least one "
        "class.");
  }
  return {prediction[0]};
}

void yolo_loss_shape(ShapeContext& ctx) {
  ctx.add_result(yolo_result_shape(ctx, 0), DataType::Float32);
}

void yolo_loss_gradient_shape(ShapeContext& ctx) {
  ctx.require_shape(0, yolo_result_shape(ctx, 1));
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

/// Samples are on axis 0 of prediction and labels, which start at `first`.
BatchAxis grid_axis(BatchContext& ctx, int first,
                    std::vector<batch::Operand> operands = {}) {
  const Shape all = batch::axes_in_order(4);
  operands.push_back({.input = first, .axes = all});
  operands.push_back({.input = first + 1, .axes = all});
  operands.push_back({.input = first + 2, .axes = {4, 4}});
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis != 0) batch::refuse_axis(ctx, joined.axis);
  return joined;
}

void yolo_loss_batch(BatchContext& ctx) { ctx.set(0, grid_axis(ctx, 0)); }

void yolo_loss_gradient_batch(BatchContext& ctx) {
  ctx.set(0, grid_axis(ctx, 1, {{.input = 0, .axes = {0}}}));
}

void yolo_loss_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  ctx.set(0, ctx.append(OpKind::YoloLossGradient, ctx.attrs<YoloLossAttrs>(),
                        {ctx.result_gradient(), ctx.input(0), ctx.input(1),
                         ctx.input(2)}));
}

}  // namespace

OpDef define_yolo_loss() {
  return {
      .inputs = {{"prediction"}, {"labels", kFloat32}, {"anchors", kFloat32}},
      .results = {"loss"},
      .shape_rule = yolo_loss_shape,
      .flops = flops::per_element,
      .batch_rule = yolo_loss_batch,
      .gradient_rule = yolo_loss_rule,
      .autocast_list = AutocastList::Float32};
}

OpDef define_yolo_loss_gradient() {
  return {.inputs = {{"gradient", kFloat32},
                     {"prediction"},
                     {"labels", kFloat32},
                     {"anchors", kFloat32}},
          .results = {"dprediction"},
          .shape_rule = yolo_loss_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = yolo_loss_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .autocast_list = AutocastList::Float32};
}

}  // namespace traingraph
