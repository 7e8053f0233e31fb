// SPDX-License-Identifier: MIT
// ctc_loss(prediction, labels, lengths?, label_lengths?) and ctc_loss_gradient:
// one loss per sample; ctc_loss.h of the public headers has the formula. Only
// the prediction has a gradient, which computes the sums over paths anew:
// keeping them would cost T (2 S + 1) floats for each sample until then.
#include "ops/loss_ctc.h"

#include <string>

#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

using namespace ctc;

void require_lengths(const ShapeContext& ctx, int input, std::int64_t samples) {
  if (ctx.has(input)) ctx.require_shape(input, Shape{samples});
}

/// Checks prediction, labels and lengths, which start at input `first`.
Shape ctc_result_shape(const ShapeContext& ctx, int first) {
  ctx.require_rank(first + kPrediction, 3);
  ctx.require_rank(first + kLabels, 2);
  const Shape& prediction = ctx.shape(first + kPrediction);
  const Shape& labels = ctx.shape(first + kLabels);
  if (labels[0] != prediction[0]) {
    ctx.fail_shape("labels are not one sequence for each sample",
                   Shape{prediction[0], labels[1]}.to_string(),
                   labels.to_string(),
                   "Predictions are (N, T, C), labels (N, S).");
  }
  require_lengths(ctx, first + kLengths, prediction[0]);
  require_lengths(ctx, first + kLabelLengths, prediction[0]);
  const std::int64_t blank = ctx.attrs<CtcLossAttrs>().blank;
  ctx.require_attribute(
      blank >= 0 && blank < prediction[2], "blank is no class",
      "0 to " + std::to_string(prediction[2] - 1), std::to_string(blank));
  return {prediction[0]};
}

void ctc_loss_shape(ShapeContext& ctx) {
  ctx.add_result(ctc_result_shape(ctx, 0), DataType::Float32);
}

void ctc_loss_gradient_shape(ShapeContext& ctx) {
  ctx.require_shape(0, ctc_result_shape(ctx, 1));
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

/// Samples are on axis 0 of all that starts at input `first`.
BatchAxis sample_axis(BatchContext& ctx, int first,
                      std::vector<batch::Operand> operands = {}) {
  const auto add = [&](int input, Shape axes) {
    if (!ctx.has(first + input)) return;
    operands.push_back({.input = first + input, .axes = axes});
  };
  add(kPrediction, batch::axes_in_order(3));
  add(kLabels, {0, 3});
  add(kLengths, {0});
  add(kLabelLengths, {0});
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis != 0) batch::refuse_axis(ctx, joined.axis);
  return joined;
}

void ctc_loss_batch(BatchContext& ctx) { ctx.set(0, sample_axis(ctx, 0)); }

void ctc_loss_gradient_batch(BatchContext& ctx) {
  ctx.set(0, sample_axis(ctx, 1, {{.input = 0, .axes = {0}}}));
}

void ctc_loss_rule(GradContext& ctx) {
  if (!ctx.wants(kPrediction)) return;
  ctx.set(kPrediction,
          ctx.append(OpKind::CtcLossGradient, ctx.attrs<CtcLossAttrs>(),
                     {ctx.result_gradient(), ctx.input(kPrediction),
                      ctx.input(kLabels), ctx.input(kLengths),
                      ctx.input(kLabelLengths)}));
}

template <int kFirst>
std::int64_t ctc_positions(const Program& program, const Node& node) {
  return program.shape(node.inputs[kFirst + kPrediction])[2];
}

std::int64_t ctc_padding(const Attributes&) { return kPadding; }

const InputDef kPaddedLabels{
    .name = "labels", .types = kIndex, .is_index = true};
const InputDef kStepCounts{
    .name = "lengths", .types = kInt32, .is_optional = true};
const InputDef kLabelCounts{
    .name = "label_lengths", .types = kInt32, .is_optional = true};

}  // namespace

OpDef define_ctc_loss() {
  return {.inputs = {{"prediction"}, kPaddedLabels, kStepCounts, kLabelCounts},
          .results = {"loss"},
          .shape_rule = ctc_loss_shape,
          .flops = flops::per_element,
          .batch_rule = ctc_loss_batch,
          .gradient_rule = ctc_loss_rule,
          .num_positions = ctc_positions<0>,
          .ignored_index = ctc_padding,
          .autocast_list = AutocastList::Float32};
}

OpDef define_ctc_loss_gradient() {
  return {.inputs = {{"gradient", kFloat32},
                     {"prediction"},
                     kPaddedLabels,
                     kStepCounts,
                     kLabelCounts},
          .results = {"dprediction"},
          .shape_rule = ctc_loss_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = ctc_loss_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .num_positions = ctc_positions<1>,
          .ignored_index = ctc_padding,
          .autocast_list = AutocastList::Float32};
}

}  // namespace traingraph
