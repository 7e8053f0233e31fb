// SPDX-License-Identifier: MIT
// sample_norm and its gradient: instance, group and layer normalization. One
// sample_norm_gradient node gives the gradients of x, gamma and beta.
#include "ops/norm_sample.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/norm_rules.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {

SampleView::SampleView(const Shape& shape, const SampleNormAttrs& attrs) {
  const int axis = static_cast<int>(attrs.axis);
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  if (attrs.groups == 0) {
    for (int i = axis; i < shape.rank(); ++i) width *= shape[i];
    return;
  }
  groups = attrs.groups;
  width = shape[axis] / groups;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
}

Shape sample_statistics_shape(const Shape& shape,
                              const SampleNormAttrs& attrs) {
  Shape result = Shape::filled(shape.rank(), 1);
  const int axis = static_cast<int>(attrs.axis);
  for (int i = 0; i < axis; ++i) result[i] = shape[i];
  if (attrs.groups > 0) result[axis] = attrs.groups;
  return result;
}

Shape sample_parameters_shape(const Shape& shape,
                              const SampleNormAttrs& attrs) {
  const int axis = static_cast<int>(attrs.axis);
  if (attrs.groups > 0) return {shape[axis]};
  Shape result;
  for (int i = axis; i < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}

namespace {

void require_sample_norm_attrs(const ShapeContext& ctx, int x) {
  const auto& attrs = ctx.attrs<SampleNormAttrs>();
  ctx.require_rank_at_least(x, 1);
  ctx.require_axis("axis", attrs.axis, ctx.shape(x).rank());
  ctx.require_attribute(std::isfinite(attrs.epsilon) && attrs.epsilon >= 0,
                        "epsilon out of range", "a finite number, at least 0",
                        format_value(attrs.epsilon));
  require_momentum<SampleNormAttrs>(ctx);
  ctx.require_attribute(attrs.groups >= 0, "groups out of range",
                        "at least 0, which is none",
                        format_value(attrs.groups));
  if (attrs.groups == 0) return;
  const std::int64_t size = ctx.shape(x)[static_cast<int>(attrs.axis)];
  ctx.require_attribute(
      size % attrs.groups == 0,
      "groups do not divide axis " + std::to_string(attrs.axis) + " of " +
          describe_input(ctx, x),
      "a divisor of " + std::to_string(size), format_value(attrs.groups));
}

void require_running_statistics(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SampleNormAttrs>();
  const bool has_both = ctx.has(3) && ctx.has(4);
  ctx.require_attribute(ctx.has(3) == ctx.has(4),
                        "running statistics come in pairs",
                        "running_mean and running_variance",
                        ctx.has(3) ? "running_mean" : "running_variance");
  ctx.require_attribute(!has_both || attrs.groups > 0,
                        "running statistics belong to groups", "groups above 0",
                        format_value(attrs.groups));
  const float unset = SampleNormAttrs{}.momentum;
  ctx.require_attribute(has_both || attrs.momentum == unset,
                        "momentum moves running statistics only",
                        format_value(unset) + " without them",
                        format_value(attrs.momentum));
  for (int input : {3, 4}) {
    if (has_both) ctx.require_shape(input, {attrs.groups});
  }
}

void sample_norm_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SampleNormAttrs>();
  require_sample_norm_attrs(ctx, 0);
  const Shape& x = ctx.shape(0);
  const Shape statistics = sample_statistics_shape(x, attrs);
  for (int input : {1, 2}) {
    if (ctx.has(input)) {
      ctx.require_shape(input, sample_parameters_shape(x, attrs));
    }
  }
  require_running_statistics(ctx);
  ctx.add_result(x, ctx.data_type(0));
  ctx.add_result(statistics, DataType::Float32);
  ctx.add_result(statistics, DataType::Float32);
}

void sample_norm_gradient_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SampleNormAttrs>();
  require_sample_norm_attrs(ctx, 1);
  ctx.require_same_shape(0, 1);
  const Shape& x = ctx.shape(1);
  const Shape parameters = sample_parameters_shape(x, attrs);
  if (ctx.has(2)) ctx.require_shape(2, parameters);
  for (int input : {3, 4}) {
    ctx.require_shape(input, sample_statistics_shape(x, attrs));
  }
  ctx.add_result(x, ctx.data_type(1));
  ctx.add_result(parameters, DataType::Float32);
  ctx.add_result(parameters, DataType::Float32);
}

/// The batch runs along an axis before `axis`: of x and like it, and of the
/// statistics; parameters have a fixed size.
BatchAxis join_samples(BatchContext& ctx, std::initializer_list<int> varying) {
  std::vector<batch::Operand> operands;
  for (int input : varying) {
    operands.push_back({.input = input,
                        .axes = batch::axes_in_order(ctx.shape(input).rank())});
  }
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    const bool may_vary =
        std::find(varying.begin(), varying.end(), input) != varying.end();
    if (may_vary || !ctx.has(input) || !ctx.axis(input)) continue;
    ctx.refuse(ctx.describe(input) + " must not vary with the batch");
  }
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis >= ctx.attrs<SampleNormAttrs>().axis) {
    batch::refuse_axis(ctx, joined.axis);
  }
  return joined;
}

void sample_norm_batch(BatchContext& ctx) {
  const BatchAxis samples = join_samples(ctx, {0});
  for (int result = 0; result < 3; ++result) ctx.set(result, samples);
}

void sample_norm_gradient_batch(BatchContext& ctx) {
  ctx.set(0, join_samples(ctx, {0, 1, 3, 4}));
}

/// What the gradients of the results mean and variance add to dx:
/// dx += (dmean + 2 (x - mean) dvariance) / n, by rows.
void sample_statistics_gradient(GradContext& ctx) {
  const ValueId x = ctx.input(0), mean = ctx.result(1);
  const ValueId mean_gradient = ctx.result_gradient(1);
  const ValueId variance_gradient = ctx.result_gradient(2);
  const Shape shape = grad::shape_of(ctx, x);
  const SampleView view(shape, ctx.attrs<SampleNormAttrs>());
  const DataType type = grad::type_of(ctx, x);
  const Shape rows{view.outer, view.groups, view.row_length()};
  const Shape of_rows{view.outer, view.groups, 1};
  const float share = 1.0f / static_cast<float>(view.row_length());
  const auto add = [&](ValueId by_rows) {
    ctx.set(0, grad::reshape(ctx, grad::cast(ctx, by_rows, type), shape));
  };
  if (mean_gradient != kNoValue) {
    const ValueId scaled = grad::linear(ctx, mean_gradient, share);
    add(grad::broadcast_to(ctx, grad::reshape(ctx, scaled, of_rows), rows));
  }
  if (variance_gradient != kNoValue) {
    const ValueId from =
        grad::cast(ctx, grad::reshape(ctx, x, rows), DataType::Float32);
    const ValueId centered =
        grad::subtract(ctx, from, grad::reshape(ctx, mean, of_rows));
    const ValueId scaled = grad::linear(ctx, variance_gradient, 2 * share);
    add(grad::multiply(ctx, centered, grad::reshape(ctx, scaled, of_rows)));
  }
}

void sample_norm_gradient(GradContext& ctx) {
  auto attrs = ctx.attrs<SampleNormAttrs>();
  // The statistics move with x wherever there are no others.
  attrs.training = attrs.training || !ctx.has(3);
  if (attrs.training && ctx.wants(0)) sample_statistics_gradient(ctx);
  append_norm_gradient(ctx, OpKind::SampleNormGradient, attrs);
}

}  // namespace

OpDef define_sample_norm() {
  return norm_def<SampleNormAttrs>(/*is_optional=*/true,
                                   {.shape_rule = sample_norm_shape,
                                    .flops = flops::per_element,
                                    .batch_rule = sample_norm_batch,
                                    .gradient_rule = sample_norm_gradient});
}

OpDef define_sample_norm_gradient() {
  return norm_gradient_def({.shape_rule = sample_norm_gradient_shape,
                            .flops = flops::per_element,
                            .batch_rule = sample_norm_gradient_batch});
}

}  // namespace traingraph
