// SPDX-License-Identifier: MIT
// Reductions that keep the rank, and broadcasting, their adjoint.
#include <algorithm>

#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

DataTypes accepted_types(ReductionType type) {
  switch (type) {
    case ReductionType::None:
      return kAnyType;
    case ReductionType::Any:
    case ReductionType::All:
      return kBoolean;
    case ReductionType::Mean:
      return kFloat;
    default:
      return kFloat | kIndex;
  }
}

bool gives_index(ReductionType type) {
  return type == ReductionType::ArgMax || type == ReductionType::ArgMin;
}

void reduce_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  const Shape& x = ctx.shape(0);
  ctx.require_attribute(to_string(attrs.type) != "?", "type is no reduction",
                        "a case of ReductionType",
                        std::to_string(static_cast<int>(attrs.type)));
  require_axes(ctx, "axes", attrs.axes, x.rank());
  ctx.require_data_type(0, accepted_types(attrs.type));
  if (attrs.type == ReductionType::None) {
    return ctx.add_result(x, ctx.data_type(0));
  }
  const Shape axes = resolve_axes(attrs.axes, x.rank());
  ctx.require_attribute(
      !gives_index(attrs.type) || axes.rank() == 1,
      std::string(to_string(attrs.type)) + " has the wrong number of axes",
      "exactly 1", std::to_string(axes.rank()));
  ctx.add_result(reduced_shape(x, axes),
                 gives_index(attrs.type) ? DataType::Int32 : ctx.data_type(0));
}

void reduce_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  const Shape axes = resolve_axes(attrs.axes, ctx.shape(0).rank());
  const bool ends = attrs.type != ReductionType::None &&
                    std::count(axes.begin(), axes.end(), ctx.axis(0).axis) > 0;
  if (!ends) batch::follow(ctx);
}

/// Every element that equals the extremum gets the same share. Their number may
/// be more than floats of 16 bits can count.
ValueId extremum_gradient(GradContext& ctx, ValueId g, ValueId x, ValueId y,
                          const Shape& axes) {
  const ValueId wins = grad::is_extremum(ctx, x, y);
  const ValueId ones = grad::cast(ctx, wins, DataType::Float32);
  const ValueId count = grad::reduce(ctx, ReductionType::Sum, ones, axes);
  const ValueId share = grad::cast(
      ctx, grad::divide(ctx, grad::cast(ctx, g, DataType::Float32), count),
      grad::type_of(ctx, g));
  return grad::select(ctx, wins, share, grad::scalar_like(ctx, g, 0));
}

/// g * sign(x), 0 at 0.
ValueId sign_gradient(GradContext& ctx, ValueId g, ValueId x) {
  const ValueId zero = grad::scalar_like(ctx, g, 0);
  const ValueId is_above =
      grad::compare(ctx, ComparisonOperation::Greater, x, zero);
  const ValueId is_below =
      grad::compare(ctx, ComparisonOperation::Less, x, zero);
  const ValueId below = grad::select(ctx, is_below, grad::negate(ctx, g), zero);
  return grad::select(ctx, is_above, g, below);
}

void reduce_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto attrs = ctx.attrs<ReduceAttrs>();
  const ValueId g = ctx.result_gradient();
  const ValueId x = ctx.input(0);
  const ValueId y = ctx.result();
  const Shape shape = grad::shape_of(ctx, x);
  switch (attrs.type) {
    case ReductionType::None:
      return ctx.set(0, g);
    case ReductionType::Sum:
      return ctx.set(0, grad::broadcast_to(ctx, g, shape));
    case ReductionType::Mean: {
      const std::int64_t count =
          shape.num_elements() / grad::shape_of(ctx, y).num_elements();
      const ValueId share = grad::linear(ctx, g, 1 / static_cast<float>(count));
      return ctx.set(0, grad::broadcast_to(ctx, share, shape));
    }
    case ReductionType::Max:
    case ReductionType::Min: {
      const Shape axes = resolve_axes(attrs.axes, shape.rank());
      return ctx.set(0, extremum_gradient(ctx, g, x, y, axes));
    }
    case ReductionType::L1Norm:
      return ctx.set(0, sign_gradient(ctx, g, x));
    default:  // ArgMax, ArgMin, Any, All: steps
      return;
  }
}

void broadcast_to_shape(ShapeContext& ctx) {
  const Shape& target = ctx.attrs<ShapeAttrs>().shape;
  require_sizes(ctx, "shape", target);
  if (broadcast_shapes(ctx.shape(0), target) != target) {
    ctx.fail_shape("input \"x\" does not broadcast to " + target.to_string(),
                   "sizes that are equal or 1, from the last axis",
                   ctx.shape(0).to_string());
  }
  ctx.add_result(target, ctx.data_type(0));
}

void broadcast_to_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const Shape shape = grad::shape_of(ctx, ctx.input(0));
  ctx.set(0, grad::sum_to(ctx, ctx.result_gradient(), shape));
}

void cumulative_sum_shape(ShapeContext& ctx) {
  const Shape& x = ctx.shape(0);
  ctx.require_rank_at_least(0, 1);
  ctx.require_axis("axis", ctx.attrs<CumulativeSumAttrs>().axis, x.rank());
  ctx.add_result(x, ctx.data_type(0));
}

void cumulative_sum_batch(BatchContext& ctx) {
  const int axis = ctx.axis(0).axis;
  if (axis >= 0 && axis == ctx.attrs<CumulativeSumAttrs>().axis) {
    batch::refuse_axis(ctx, axis);
  }
  batch::follow(ctx);
}

/// An element is a part of all sums behind it.
void cumulative_sum_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  auto attrs = ctx.attrs<CumulativeSumAttrs>();
  attrs.reverse = !attrs.reverse;
  ctx.set(0, ctx.append(OpKind::CumulativeSum, attrs, {ctx.result_gradient()}));
}

void squared_norm_shape(ShapeContext& ctx) {
  ctx.add_result(Shape{1}, DataType::Float32);
}

void squared_norm_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const ValueId x = ctx.input(0);
  const ValueId twice = grad::linear(ctx, ctx.result_gradient(), 2);
  ctx.set(
      0, grad::multiply(ctx, x, grad::cast(ctx, twice, grad::type_of(ctx, x))));
}

}  // namespace

OpDef define_reduce() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = reduce_shape,
          .flops = flops::per_element,
          .batch_rule = reduce_batch,
          .gradient_rule = reduce_rule,
          .is_identity =
              [](const Attributes& attrs) {
                return std::get<ReduceAttrs>(attrs).type == ReductionType::None;
              },
          .may_alias = true};
}

OpDef define_broadcast_to() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = broadcast_to_shape,
          .flops = flops::moves,
          .batch_rule = batch::broadcast,
          .resize = batch::resize_shape<ShapeAttrs>,
          .gradient_rule = broadcast_to_rule};
}

OpDef define_squared_norm() {
  return {.inputs = {{"x"}},
          .results = {"sum"},
          .shape_rule = squared_norm_shape,
          .flops = flops::per_element,
          .batch_rule = batch::summed,
          .gradient_rule = squared_norm_rule};
}

OpDef define_cumulative_sum() {
  return {.inputs = {{"x", kFloat | kIndex}},
          .results = {"y"},
          .shape_rule = cumulative_sum_shape,
          .flops = flops::per_element,
          .batch_rule = cumulative_sum_batch,
          .gradient_rule = cumulative_sum_rule};
}

}  // namespace traingraph
