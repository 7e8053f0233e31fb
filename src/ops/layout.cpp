// SPDX-License-Identifier: MIT
// Ops that move elements without changing them: reshape, transpose,
// concatenate and split. layout_slice.cpp has those that drop or add some.
#include <algorithm>

#include "base/checked.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

// Reshape.

/// The target with its one -1 replaced; nullopt when that is not possible.
std::optional<Shape> resolve_reshape(Shape target, std::int64_t num_elements) {
  int free_axis = -1;
  Shape known;
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (target[axis] > 0) {
      known.push_back(target[axis]);
    } else if (target[axis] == -1 && free_axis < 0) {
      free_axis = axis;
    } else {
      return std::nullopt;
    }
  }
  if (target.empty()) return std::nullopt;
  const std::int64_t rest = num_elements / known.num_elements();
  if (free_axis >= 0) target[free_axis] = rest;
  const std::int64_t free_size = free_axis >= 0 ? rest : 1;
  std::int64_t product = 0;
  const bool fits = try_multiply(known.num_elements(), free_size, &product);
  if (!fits || product != num_elements) return std::nullopt;
  return target;
}

void reshape_shape(ShapeContext& ctx) {
  const Shape& target = ctx.attrs<ShapeAttrs>().shape;
  const std::int64_t num_elements = ctx.shape(0).num_elements();
  const auto result = resolve_reshape(target, num_elements);
  if (!result) {
    ctx.fail_shape("cannot reshape " + describe_input(ctx, 0),
                   "positive sizes, at most one of them -1, of " +
                       std::to_string(num_elements) + " elements",
                   target.to_string());
  }
  ctx.add_result(*result, ctx.data_type(0));
}

/// The batch is a digit of every element's number, and must be one of a single
/// axis again. In (2, 3, batch, 5) it counts `low` = 5 elements and ends at
/// `high` = 5 * batch; an axis that begins at or below 5 and ends at or above
/// `high` holds it when the numbers divide: (2, 3 * batch, 5), (6, batch * 5).
void reshape_batch(BatchContext& ctx) {
  const BatchAxis& from = ctx.axis(0);
  if (!from) return;
  const Shape& x = ctx.shape(0);
  std::int64_t low = 1;
  for (int axis = x.rank() - 1; axis > from.axis; --axis) low *= x[axis];
  // Where samples lie on the axis in an unknown order it stays whole.
  const std::int64_t inside = from.step != 0 ? from.step : 1;
  const std::int64_t count = from.step != 0 ? ctx.batch() : x[from.axis];
  low *= inside;
  const std::int64_t high = low * count;
  std::int64_t begin = 1;
  const Shape& y = ctx.result_shape();
  for (int axis = y.rank() - 1; axis >= 0; --axis) {
    const std::int64_t end = begin * y[axis];
    if (low % begin == 0 && end % high == 0) {
      return ctx.set(0, {.axis = axis,
                         .factor = y[axis] / ctx.batch(),
                         .step = from.step != 0 ? low / begin : 0});
    }
    begin = end;
  }
  ctx.refuse(x.to_string() + " to " + y.to_string() + " splits " +
                 (from.step != 0 ? "the batch"
                                 : "an axis of several entries per sample") +
                 " on axis " + std::to_string(from.axis) + " over axes",
             from.step != 0
                 ? "Keep the batch on one axis."
                 : "Declare the tensor with the batch as an axis of its own.");
}

void reshape_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const Shape shape = grad::shape_of(ctx, ctx.input(0));
  ctx.set(0, grad::reshape(ctx, ctx.result_gradient(), shape));
}

// Transpose.

void transpose_shape(ShapeContext& ctx) {
  const Shape& axes = ctx.attrs<TransposeAttrs>().axes;
  const Shape& x = ctx.shape(0);
  ctx.require_attribute(axes.rank() == x.rank(), "axes has the wrong length",
                        std::to_string(x.rank()) + " axes", axes.to_string());
  require_axes(ctx, "axes", axes, x.rank());
  Shape result;
  for (std::int64_t axis : axes) {
    result.push_back(x[static_cast<int>(axis)]);
  }
  ctx.add_result(result, ctx.data_type(0));
}

void transpose_batch(BatchContext& ctx) {
  const Shape& axes = ctx.attrs<TransposeAttrs>().axes;
  BatchAxis moved = ctx.axis(0);
  if (!moved) return;
  const auto* place = std::find(axes.begin(), axes.end(), moved.axis);
  moved.axis = static_cast<int>(place - axes.begin());
  ctx.set(0, moved);
}

void transpose_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const Shape axes = ctx.attrs<TransposeAttrs>().axes;
  Shape inverse = axes;
  for (int k = 0; k < axes.rank(); ++k) {
    inverse[static_cast<int>(axes[k])] = k;
  }
  ctx.set(0, ctx.append(OpKind::Transpose, TransposeAttrs{inverse},
                        {ctx.result_gradient()}));
}

// Concatenate and split.

bool fits_beside(const Shape& x, const Shape& y, int axis) {
  if (x.rank() != y.rank()) return false;
  Shape expected = x;
  expected[axis] = y[axis];
  return expected == y;
}

void concatenate_shape(ShapeContext& ctx) {
  const std::int64_t attribute = ctx.attrs<AxisAttrs>().axis;
  Shape result = ctx.shape(0);
  ctx.require_axis("axis", attribute, result.rank());
  const int axis = static_cast<int>(attribute);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    ctx.require_same_data_type(i, 0);
    if (!fits_beside(ctx.shape(0), ctx.shape(i), axis)) {
      ctx.fail_shape(
          "input " + std::to_string(i) +
              " does not fit beside input 0 on axis " + std::to_string(axis),
          "the sizes of " + ctx.shape(0).to_string() + " on every other axis",
          ctx.shape(i).to_string());
    }
    result[axis] =
        checked_add(result[axis], ctx.shape(i)[axis], "a concatenated axis");
  }
  ctx.add_result(result, ctx.data_type(0));
}

/// Batches one after the other: their factors add up.
BatchAxis stacked_batches(const BatchContext& ctx, int axis) {
  BatchAxis sum{.axis = axis, .factor = 0, .step = ctx.axis(0).step};
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    const BatchAxis& part = ctx.axis(input);
    if (part.axis != axis) {
      ctx.refuse(ctx.describe(input) + ", number " + std::to_string(input) +
                 ", has a fixed size among batches on axis " +
                 std::to_string(axis));
    }
    sum.factor += part.factor;
    if (part.step != sum.step) sum.step = 0;
  }
  return sum;
}

void concatenate_batch(BatchContext& ctx) {
  const int axis = static_cast<int>(ctx.attrs<AxisAttrs>().axis);
  const int rank = ctx.result_shape().rank();
  std::vector<batch::Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (ctx.axis(input).axis == axis) {
      return ctx.set(0, stacked_batches(ctx, axis));
    }
    operands.push_back({.input = input, .axes = batch::axes_in_order(rank)});
  }
  ctx.set(0, batch::join(ctx, operands));
}

void concatenate_rule(GradContext& ctx) {
  const int axis = static_cast<int>(ctx.attrs<AxisAttrs>().axis);
  const std::vector<ValueId> inputs = ctx.node().inputs;
  const ValueId g = ctx.result_gradient();
  Shape start = Shape::filled(grad::shape_of(ctx, g).rank(), 0);
  Shape end = grad::shape_of(ctx, g);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    end[axis] = start[axis] + grad::shape_of(ctx, inputs[i])[axis];
    if (ctx.wants(static_cast<int>(i))) {
      const SliceAttrs part{.start = start, .end = end, .stride = {}};
      ctx.set(static_cast<int>(i), ctx.append(OpKind::Slice, part, {g}));
    }
    start[axis] = end[axis];
  }
}

void split_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SplitAttrs>();
  const Shape& x = ctx.shape(0);
  ctx.require_axis("axis", attrs.axis, x.rank());
  require_sizes(ctx, "lengths", attrs.lengths);
  const int axis = static_cast<int>(attrs.axis);
  std::int64_t total = 0;
  for (std::int64_t length : attrs.lengths) {
    total = checked_add(total, length, "the sum of lengths");
  }
  if (total != x[axis]) {
    ctx.fail_shape(
        "lengths do not add up to axis " + std::to_string(axis) + " of " +
            describe_input(ctx, 0),
        std::to_string(x[axis]),
        std::to_string(total) + " from " + attrs.lengths.to_string());
  }
  for (std::int64_t length : attrs.lengths) {
    Shape part = x;
    part[axis] = length;
    ctx.add_result(part, ctx.data_type(0));
  }
}

void split_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<SplitAttrs>();
  const BatchAxis& whole = ctx.axis(0);
  if (!whole) return;
  for (int i = 0; i < ctx.num_results(); ++i) {
    BatchAxis part = whole;
    if (whole.axis == attrs.axis) {
      const std::int64_t length = attrs.lengths[i];
      const std::int64_t stack = whole.step * ctx.batch();
      if (ctx.num_results() > 1 && (stack == 0 || length % stack != 0)) {
        ctx.refuse("a part of " + std::to_string(length) + " entries on axis " +
                   std::to_string(whole.axis) + " is no whole batch");
      }
      part.factor = length / ctx.batch();
    }
    ctx.set(i, part);
  }
}

void resize_split(Attributes& attributes, int axis, const BatchChange& change) {
  auto& attrs = std::get<SplitAttrs>(attributes);
  if (attrs.axis != axis) return;
  for (int i = 0; i < attrs.lengths.rank(); ++i) {
    attrs.lengths[i] = change(attrs.lengths[i]);
  }
}

void split_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const std::int64_t axis = ctx.attrs<SplitAttrs>().axis;
  const std::vector<ValueId> parts = ctx.node().outputs;
  std::vector<ValueId> gradients;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ValueId g = ctx.result_gradient(static_cast<int>(i));
    if (g == kNoValue) g = grad::fill_like(ctx, parts[i], 0);
    gradients.push_back(g);
  }
  if (gradients.size() == 1) return ctx.set(0, gradients[0]);
  ctx.set(0, ctx.append(OpKind::Concatenate, AxisAttrs{axis}, gradients));
}

}  // namespace

OpDef define_reshape() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = reshape_shape,
          .flops = flops::moves,
          .batch_rule = reshape_batch,
          .resize = batch::resize_shape<ShapeAttrs>,
          .gradient_rule = reshape_rule,
          .may_alias = true};
}

OpDef define_transpose() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = transpose_shape,
          .flops = flops::moves,
          .batch_rule = transpose_batch,
          .gradient_rule = transpose_rule,
          .may_alias = true};
}

OpDef define_concatenate() {
  return {.inputs = {{.name = "x", .types = kAnyType, .is_variadic = true}},
          .results = {"y"},
          .shape_rule = concatenate_shape,
          .flops = flops::moves,
          .batch_rule = concatenate_batch,
          .gradient_rule = concatenate_rule};
}

OpDef define_split() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = split_shape,
          .flops = flops::moves,
          .batch_rule = split_batch,
          .resize = resize_split,
          .gradient_rule = split_rule};
}

}  // namespace traingraph
