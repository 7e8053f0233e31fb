// SPDX-License-Identifier: MIT
// gather and scatter along an axis. Indices of the source's rank name one
// element each (NumPy's take_along_axis); indices of one axis name whole slices
// of a source of more (NumPy's take). gather_embedding.cpp has the rows of a
// table that is trained.
//
//   slices of (N, C, W) on axis 1:  indices (M)        result (N, M, W)
//   elements of it:                 indices (N, M, W)  result (N, M, W)
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

/// What moves from place to place.
constexpr DataTypes kMoved = kFloat | kIndex | kBoolean;

bool names_slices(const Shape& source, const Shape& indices) {
  return indices.rank() == 1 && source.rank() > 1;
}

Shape with_size(Shape shape, int axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

/// Input `source` is what the indices, input 1, name positions of; returns the
/// shape of what they name.
Shape require_indices(const ShapeContext& ctx, int source, int axis) {
  constexpr int kIndices = 1;
  const Shape& from = ctx.shape(source);
  const Shape& indices = ctx.shape(kIndices);
  if (names_slices(from, indices)) return with_size(from, axis, indices[0]);
  if (indices.rank() != from.rank()) {
    ctx.fail_shape(
        "indices have the wrong rank for " + describe_input(ctx, source),
        "1 axis for whole slices, or " + std::to_string(from.rank()) +
            " for single elements",
        indices.to_string(),
        "Reshape the indices; Embedding takes those of any shape.");
  }
  const Shape expected = with_size(from, axis, indices[axis]);
  if (indices != expected) {
    ctx.fail_shape("indices of single elements must have the sizes of " +
                       describe_input(ctx, source) + " but on axis " +
                       std::to_string(axis),
                   expected.to_string(), indices.to_string(),
                   "Slice or broadcast one of them.");
  }
  return indices;
}

int require_axis(const ShapeContext& ctx, std::int64_t axis, int input) {
  ctx.require_rank_at_least(input, 1);
  ctx.require_axis("axis", axis, ctx.shape(input).rank());
  return static_cast<int>(axis);
}

/// How the axes of what indices name, and of the indices, run along those of a
/// result like the source. Positions are on an axis that is summed over.
batch::Operand with_positions(const BatchContext& ctx, int input, int axis) {
  Shape axes = batch::axes_in_order(ctx.shape(input).rank());
  axes[axis] = axes.rank();
  return {.input = input, .axes = axes};
}

batch::Operand in_order(const BatchContext& ctx, int input) {
  return {.input = input,
          .axes = batch::axes_in_order(ctx.shape(input).rank())};
}

// Gather; scatter_gradient has its shapes.

void gather_shape(ShapeContext& ctx) {
  const int axis = require_axis(ctx, ctx.attrs<AxisAttrs>().axis, 0);
  ctx.add_result(require_indices(ctx, 0, axis), ctx.data_type(0));
}

void gather_batch(BatchContext& ctx) {
  const auto axis = static_cast<int>(ctx.attrs<AxisAttrs>().axis);
  if (ctx.axis(0).axis == axis) {
    ctx.refuse("indices name entries of the axis that follows the batch",
               "Gather along another axis.");
  }
  const batch::Operand indices = names_slices(ctx.shape(0), ctx.shape(1))
                                     ? batch::Operand{1, {axis}}
                                     : in_order(ctx, 1);
  ctx.set(0, batch::join(ctx, {with_positions(ctx, 0, axis), indices}));
}

std::int64_t gather_positions(const Program& program, const Node& node) {
  const auto axis = static_cast<int>(std::get<AxisAttrs>(node.attrs).axis);
  return program.shape(node.inputs[0])[axis];
}

void gather_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const ScatterAttrs attrs{.axis = ctx.attrs<AxisAttrs>().axis,
                           .reduction_type = ReductionType::Sum};
  const ValueId gradient = ctx.result_gradient();
  const ValueId indices = ctx.input(1);
  const ValueId zeros = grad::fill_like(ctx, ctx.input(0), 0);
  ctx.set(0, ctx.append(OpKind::Scatter, attrs, {gradient, indices, zeros}));
}

// Scatter.

enum { kSource, kIndices, kData };

void scatter_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<ScatterAttrs>();
  const int axis = require_axis(ctx, attrs.axis, kData);
  const bool is_known = attrs.reduction_type == ReductionType::None ||
                        attrs.reduction_type == ReductionType::Sum;
  ctx.require_attribute(is_known, "scatter cannot reduce like this",
                        "none or sum",
                        std::string(to_string(attrs.reduction_type)));
  const Shape named = require_indices(ctx, kData, axis);
  if (ctx.shape(kSource) != named) {
    ctx.fail_shape("source does not have the shape of what indices name",
                   named.to_string(), ctx.shape(kSource).to_string());
  }
  ctx.require_same_data_type(kSource, kData);
  if (attrs.reduction_type == ReductionType::Sum) {
    ctx.require_data_type(kData, kFloat | kIndex);
  }
  ctx.add_result(ctx.shape(kData), ctx.data_type(kData));
}

void scatter_batch(BatchContext& ctx) {
  const auto axis = static_cast<int>(ctx.attrs<ScatterAttrs>().axis);
  if (ctx.axis(kData).axis == axis) {
    ctx.refuse("indices name entries of the axis that follows the batch",
               "Scatter along another axis.");
  }
  const int rank = ctx.shape(kData).rank();
  const batch::Operand indices =
      names_slices(ctx.shape(kData), ctx.shape(kIndices))
          ? batch::Operand{kIndices, {rank}}
          : with_positions(ctx, kIndices, axis);
  const BatchAxis joined = batch::join(
      ctx, {with_positions(ctx, kSource, axis), indices, in_order(ctx, kData)});
  // Samples that are scattered over a fixed size end their batch axis.
  if (joined.axis != rank) ctx.set(0, joined);
}

std::int64_t scatter_positions(const Program& program, const Node& node) {
  const auto axis = static_cast<int>(std::get<ScatterAttrs>(node.attrs).axis);
  return program.shape(node.inputs[kData])[axis];
}

/// Differentiates `None`: what is overwritten gets no gradient, be it data or a
/// source that another one follows.
void scatter_rule(GradContext& ctx) {
  const auto attrs = ctx.attrs<ScatterAttrs>();
  const bool is_sum = attrs.reduction_type == ReductionType::Sum;
  const ValueId gradient = ctx.result_gradient();
  const ValueId indices = ctx.input(kIndices);
  if (ctx.wants(kSource)) {
    const OpKind op = is_sum ? OpKind::Gather : OpKind::ScatterGradient;
    ctx.set(kSource,
            ctx.append(op, AxisAttrs{attrs.axis}, {gradient, indices}));
  }
  if (!ctx.wants(kData)) return;
  if (is_sum) return ctx.set(kData, gradient);
  const ValueId zeros = grad::fill_like(ctx, ctx.input(kSource), 0);
  ctx.set(kData,
          ctx.append(OpKind::Scatter, attrs, {zeros, indices, gradient}));
}

double scatter_flops(const Program& program, const Node& node) {
  const ReductionType type = std::get<ScatterAttrs>(node.attrs).reduction_type;
  return type == ReductionType::Sum ? flops::per_element(program, node) : 0;
}

}  // namespace

OpDef define_gather() {
  return {.inputs = {{.name = "source", .types = kMoved, .is_picked = true},
                     {.name = "indices", .types = kIndex, .is_index = true}},
          .results = {"y"},
          .shape_rule = gather_shape,
          .flops = flops::moves,
          .batch_rule = gather_batch,
          .gradient_rule = gather_rule,
          .num_positions = gather_positions};
}

OpDef define_scatter() {
  return {.inputs = {{"source", kMoved},
                     {.name = "indices", .types = kIndex, .is_index = true},
                     {"data", kMoved}},
          .results = {"y"},
          .shape_rule = scatter_shape,
          .flops = scatter_flops,
          .batch_rule = scatter_batch,
          .gradient_rule = scatter_rule,
          .num_positions = scatter_positions};
}

OpDef define_scatter_gradient() {
  return {.inputs = {{"gradient"},
                     {.name = "indices", .types = kIndex, .is_index = true}},
          .results = {"dsource"},
          .shape_rule = gather_shape,
          .flops = flops::moves,
          .batch_rule = gather_batch,
          .no_gradient = NoGradient::Missing,
          .num_positions = gather_positions};
}

}  // namespace traingraph
