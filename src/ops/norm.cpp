// SPDX-License-Identifier: MIT
// batch_norm and softmax with their gradients. Channels are axis 1. One
// batch_norm_gradient node gives the gradients of x, gamma and beta.
//
// batch_norm in training is batch_norm_moments, then batch_norm_apply; its
// gradient is batch_norm_gradient_sums, then batch_norm_gradient_apply. The
// parts are for moments and sums that are not of x alone: those of samples that
// several processes have. Moments are rows of channels (graph/moments.h), sums
// are two: of g and of g (x - mean).
#include <cmath>
#include <string>

#include "base/format.h"
#include "graph/moments.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/norm_rules.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

void require_batch_norm_attrs(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<BatchNormAttrs>();
  ctx.require_attribute(std::isfinite(attrs.epsilon) && attrs.epsilon >= 0,
                        "epsilon out of range", "a finite number, at least 0",
                        format_value(attrs.epsilon));
  require_momentum<BatchNormAttrs>(ctx);
}

void batch_norm_shape(ShapeContext& ctx) {
  require_batch_norm_attrs(ctx);
  ctx.require_rank_at_least(0, 2);
  const Shape channels{ctx.shape(0)[1]};
  for (int input = 1; input < 5; ++input) {
    if (ctx.has(input)) ctx.require_shape(input, channels);
  }
  ctx.add_result(ctx.shape(0), ctx.data_type(0));
  ctx.add_result(channels, DataType::Float32);
  ctx.add_result(channels, DataType::Float32);
}

void batch_norm_gradient_shape(ShapeContext& ctx) {
  require_batch_norm_attrs(ctx);
  ctx.require_rank_at_least(1, 2);
  ctx.require_same_shape(0, 1);
  const Shape channels{ctx.shape(1)[1]};
  for (int input = 2; input < 5; ++input) {
    if (ctx.has(input)) ctx.require_shape(input, channels);
  }
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
  ctx.add_result(channels, DataType::Float32);
  ctx.add_result(channels, DataType::Float32);
}

/// Inputs from `vectors` on have values of channels, axis 1 of the others.
BatchAxis join_channels(BatchContext& ctx, int vectors) {
  std::vector<batch::Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input)) continue;
    const int rank = ctx.shape(input).rank();
    operands.push_back({.input = input,
                        .axes = input < vectors ? batch::axes_in_order(rank)
                                                : Shape::filled(rank, 1)});
  }
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined.axis == 1) batch::refuse_axis(ctx, joined.axis);
  return joined;
}

void batch_norm_batch(BatchContext& ctx) { ctx.set(0, join_channels(ctx, 1)); }
void batch_norm_gradient_batch(BatchContext& ctx) {
  ctx.set(0, join_channels(ctx, 2));
}
void batch_norm_moments_batch(BatchContext& ctx) { join_channels(ctx, 1); }
void batch_norm_gradient_sums_batch(BatchContext& ctx) {
  join_channels(ctx, 2);
}

/// What the gradients of the results mean and variance add to dx:
/// dx += (dmean + 2 (x - mean) dvariance) / n.
void batch_statistics_gradient(GradContext& ctx) {
  const ValueId x = ctx.input(0);
  const ValueId mean_gradient = ctx.result_gradient(1);
  const ValueId variance_gradient = ctx.result_gradient(2);
  const Shape shape = grad::shape_of(ctx, x);
  const DataType type = grad::type_of(ctx, x);
  Shape channels = Shape::filled(shape.rank(), 1);
  channels[1] = shape[1];
  const float scale =
      static_cast<float>(shape[1]) / static_cast<float>(shape.num_elements());
  if (mean_gradient != kNoValue) {
    const ValueId scaled =
        grad::cast(ctx, grad::linear(ctx, mean_gradient, scale), type);
    ctx.set(0, grad::broadcast_to(ctx, grad::reshape(ctx, scaled, channels),
                                  shape));
  }
  if (variance_gradient != kNoValue) {
    const ValueId mean = grad::reshape(ctx, ctx.result(1), channels);
    const ValueId centered =
        grad::subtract(ctx, grad::cast(ctx, x, DataType::Float32), mean);
    const ValueId scaled = grad::linear(ctx, variance_gradient, 2 * scale);
    const ValueId factor = grad::reshape(ctx, scaled, channels);
    ctx.set(0, grad::cast(ctx, grad::multiply(ctx, centered, factor), type));
  }
}

void batch_norm_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<BatchNormAttrs>();
  if (attrs.training && ctx.wants(0)) batch_statistics_gradient(ctx);
  append_norm_gradient(ctx, OpKind::BatchNormGradient, attrs);
}

constexpr std::int64_t kNumSums = 2;

void batch_norm_moments_shape(ShapeContext& ctx) {
  ctx.require_rank_at_least(0, 2);
  ctx.add_result({kNumMomentRows, ctx.shape(0)[1]}, DataType::Float32);
}

void batch_norm_apply_shape(ShapeContext& ctx) {
  batch_norm_shape(ctx);
  ctx.require_shape(5, {kNumMomentRows, ctx.shape(0)[1]});
}

/// Statistics that do not move with x have no gradient to sum up.
void require_training(const ShapeContext& ctx) {
  ctx.require_attribute(ctx.attrs<BatchNormAttrs>().training,
                        "moments of samples are those of training",
                        "training = true", "false");
}

void batch_norm_gradient_sums_shape(ShapeContext& ctx) {
  require_batch_norm_attrs(ctx);
  require_training(ctx);
  ctx.require_rank_at_least(1, 2);
  ctx.require_same_shape(0, 1);
  const std::int64_t channels = ctx.shape(1)[1];
  ctx.require_shape(2, {kNumMomentRows, channels});
  ctx.add_result({kNumSums, channels}, DataType::Float32);
  ctx.add_result({channels}, DataType::Float32);
  ctx.add_result({channels}, DataType::Float32);
}

void batch_norm_gradient_apply_shape(ShapeContext& ctx) {
  require_batch_norm_attrs(ctx);
  require_training(ctx);
  ctx.require_rank_at_least(1, 2);
  ctx.require_same_shape(0, 1);
  const std::int64_t channels = ctx.shape(1)[1];
  if (ctx.has(2)) ctx.require_shape(2, {channels});
  ctx.require_shape(3, {kNumMomentRows, channels});
  ctx.require_shape(4, {kNumSums, channels});
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

void softmax_shape(ShapeContext& ctx) {
  ctx.require_rank_at_least(0, 1);
  ctx.require_axis("axis", ctx.attrs<SoftmaxAttrs>().axis, ctx.shape(0).rank());
  ctx.add_result(ctx.shape(0), ctx.data_type(0));
}

void softmax_gradient_shape(ShapeContext& ctx) {
  ctx.require_rank_at_least(1, 1);
  ctx.require_same_shape(0, 1);
  ctx.require_axis("axis", ctx.attrs<SoftmaxAttrs>().axis, ctx.shape(1).rank());
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

void softmax_gradient(GradContext& ctx) {
  ctx.set(0, ctx.append(OpKind::SoftmaxGradient, ctx.attrs<SoftmaxAttrs>(),
                        {ctx.result_gradient(), ctx.result()}));
}

/// Of two nodes that are one normalization.
double part_flops(const Program& program, const Node& node) {
  return flops::kPerElement / 2 * flops::elements(program, node.inputs[0]);
}

}  // namespace

OpDef define_batch_norm() {
  return norm_def<BatchNormAttrs>(/*is_optional=*/false,
                                  {.shape_rule = batch_norm_shape,
                                   .flops = flops::per_element,
                                   .batch_rule = batch_norm_batch,
                                   .gradient_rule = batch_norm_gradient});
}

OpDef define_batch_norm_gradient() {
  return norm_gradient_def({.shape_rule = batch_norm_gradient_shape,
                            .flops = flops::per_element,
                            .batch_rule = batch_norm_gradient_batch});
}

OpDef define_batch_norm_moments() {
  return {.inputs = {{"x"}},
          .results = {"moments"},
          .shape_rule = batch_norm_moments_shape,
          .flops = part_flops,
          .batch_rule = batch_norm_moments_batch,
          .no_gradient = NoGradient::Missing};
}

OpDef define_batch_norm_apply() {
  OpDef def = norm_def<BatchNormAttrs>(/*is_optional=*/false,
                                       {.shape_rule = batch_norm_apply_shape,
                                        .flops = part_flops,
                                        .batch_rule = batch_norm_batch,
                                        .no_gradient = NoGradient::Missing});
  def.inputs.push_back({"moments", kFloat32});
  return def;
}

OpDef define_batch_norm_gradient_sums() {
  return {.inputs = {{"gradient"}, {"x"}, {"moments", kFloat32}},
          .results = {"sums", "dgamma", "dbeta"},
          .shape_rule = batch_norm_gradient_sums_shape,
          .flops = part_flops,
          .batch_rule = batch_norm_gradient_sums_batch,
          .no_gradient = NoGradient::Missing};
}

OpDef define_batch_norm_gradient_apply() {
  return {.inputs = {{"gradient"},
                     {"x"},
                     {"gamma", kFloat32, true},
                     {"moments", kFloat32},
                     {"sums", kFloat32}},
          .results = {"dx"},
          .shape_rule = batch_norm_gradient_apply_shape,
          .flops = part_flops,
          .batch_rule = batch_norm_gradient_batch,
          .no_gradient = NoGradient::Missing};
}

OpDef define_softmax() {
  return {.inputs = {{"x"}},
          .results = {"y"},
          .shape_rule = softmax_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow,
          .gradient_rule = softmax_gradient};
}

OpDef define_softmax_gradient() {
  return {.inputs = {{"gradient"}, {"y"}},
          .results = {"dx"},
          .shape_rule = softmax_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = batch::broadcast,
          .no_gradient = NoGradient::Missing};
}

}  // namespace traingraph
