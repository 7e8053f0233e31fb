// SPDX-License-Identifier: MIT
// The part of the layout family that drops or adds elements: slice and pad,
// with their adjoints.
#include <algorithm>

#include "base/checked.h"
#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/window.h"

namespace traingraph {
namespace {

// Slice.

void require_length(const ShapeContext& ctx, const char* attribute,
                    const Shape& values, int rank) {
  ctx.require_attribute(
      values.rank() == rank, std::string(attribute) + " has the wrong length",
      "one entry for each of " + std::to_string(rank) + " axes",
      values.to_string());
}

/// Shape of the slice `attrs` of a tensor of shape `whole`.
template <class Attrs>
Shape slice_of(const ShapeContext& ctx, const Attrs& attrs,
               const Shape& whole) {
  const int rank = whole.rank();
  const Shape stride =
      attrs.stride.empty() ? Shape::filled(rank, 1) : attrs.stride;
  require_length(ctx, "start", attrs.start, rank);
  require_length(ctx, "end", attrs.end, rank);
  require_length(ctx, "stride", stride, rank);
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t start = attrs.start[axis];
    const std::int64_t end = attrs.end[axis];
    ctx.require_positive("stride", stride[axis]);
    ctx.require_attribute(
        start >= 0 && start < end && end <= whole[axis],
        "the range on axis " + std::to_string(axis) + " is empty or outside",
        "0 <= start < end <= " + std::to_string(whole[axis]),
        "start " + std::to_string(start) + ", end " + std::to_string(end));
    result.push_back((end - start - 1) / stride[axis] + 1);
  }
  return result;
}

void slice_shape(ShapeContext& ctx) {
  const Shape result = slice_of(ctx, ctx.attrs<SliceAttrs>(), ctx.shape(0));
  ctx.add_result(result, ctx.data_type(0));
}

void slice_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto attrs = ctx.attrs<SliceAttrs>();
  const Shape shape = grad::shape_of(ctx, ctx.input(0));
  ctx.set(0, ctx.append(OpKind::SliceGradient,
                        SliceGradientAttrs{attrs.start, attrs.end, attrs.stride,
                                           shape},
                        {ctx.result_gradient()}));
}

/// All of the batch axis, or whole batches out of a stack of some.
template <class Attrs>
void require_whole_batches(const BatchContext& ctx, const Attrs& attrs,
                           const BatchAxis& from, std::int64_t size) {
  const int axis = from.axis;
  const std::int64_t start = attrs.start[axis], end = attrs.end[axis];
  const std::int64_t stride = attrs.stride.empty() ? 1 : attrs.stride[axis];
  if (stride == 1 && start == 0 && end == size) return;
  const std::int64_t stack = from.step * ctx.batch();
  if (stride == 1 && stack != 0 && start % stack == 0 && end % stack == 0 &&
      size % stack == 0) {
    return;
  }
  ctx.refuse("entries " + std::to_string(start) + " to " + std::to_string(end) +
                 " of " + std::to_string(size) + " on axis " +
                 std::to_string(axis) + " are no whole batch",
             "Keep all of the batch axis.");
}

void slice_batch(BatchContext& ctx) {
  BatchAxis axis = ctx.axis(0);
  if (!axis) return;
  const auto& attrs = ctx.attrs<SliceAttrs>();
  require_whole_batches(ctx, attrs, axis, ctx.shape(0)[axis.axis]);
  axis.factor = ctx.result_shape()[axis.axis] / ctx.batch();
  ctx.set(0, axis);
}

void resize_slice(Attributes& attributes, int axis, const BatchChange& change) {
  auto& attrs = std::get<SliceAttrs>(attributes);
  attrs.start[axis] = change(attrs.start[axis]);
  attrs.end[axis] = change(attrs.end[axis]);
}

void slice_gradient_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<SliceGradientAttrs>();
  require_sizes(ctx, "shape", attrs.shape);
  ctx.require_shape(0, slice_of(ctx, attrs, attrs.shape));
  ctx.add_result(attrs.shape, ctx.data_type(0));
}

void slice_gradient_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto attrs = ctx.attrs<SliceGradientAttrs>();
  ctx.set(0, ctx.append(OpKind::Slice,
                        SliceAttrs{attrs.start, attrs.end, attrs.stride},
                        {ctx.result_gradient()}));
}

void slice_gradient_batch(BatchContext& ctx) {
  BatchAxis axis = ctx.axis(0);
  if (!axis) return;
  const auto& attrs = ctx.attrs<SliceGradientAttrs>();
  const std::int64_t size = attrs.shape[axis.axis];
  require_whole_batches(ctx, attrs, axis, size);
  axis.factor = size / ctx.batch();
  ctx.set(0, axis);
}

void resize_slice_gradient(Attributes& attributes, int axis,
                           const BatchChange& change) {
  auto& attrs = std::get<SliceGradientAttrs>(attributes);
  attrs.start[axis] = change(attrs.start[axis]);
  attrs.end[axis] = change(attrs.end[axis]);
  attrs.shape[axis] = change(attrs.shape[axis]);
}

// Pad.

/// What padding may take from an axis of `extent`: reflect excludes the border
/// element, symmetric repeats it.
void require_extent(const ShapeContext& ctx, const PadAttrs& attrs, int axis,
                    std::int64_t extent) {
  if (attrs.type != PaddingType::Reflect &&
      attrs.type != PaddingType::Symmetric) {
    return;
  }
  const std::int64_t most =
      attrs.type == PaddingType::Reflect ? extent - 1 : extent;
  const std::int64_t got = std::max(attrs.before[axis], attrs.after[axis]);
  ctx.require_attribute(
      got <= most,
      std::string(to_string(attrs.type)) + " padding is too large on axis " +
          std::to_string(axis) + " of size " + std::to_string(extent),
      "at most " + std::to_string(most), std::to_string(got));
}

void require_pad_attrs(const ShapeContext& ctx, const PadAttrs& attrs,
                       int rank) {
  ctx.require_attribute(to_string(attrs.type) != "?", "type is no padding",
                        "a case of PaddingType",
                        std::to_string(static_cast<int>(attrs.type)));
  ctx.require_attribute(
      attrs.type == PaddingType::Constant || attrs.value == 0,
      "value is out of range",
      "0: " + std::string(to_string(attrs.type)) + " padding does not use it",
      format_value(attrs.value), "Pad with the type constant.");
  require_length(ctx, "before", attrs.before, rank);
  require_length(ctx, "after", attrs.after, rank);
  for (int axis = 0; axis < rank; ++axis) {
    const auto is_size = [](std::int64_t count) {
      return count >= 0 && count <= kMaxWindow;
    };
    ctx.require_attribute(
        is_size(attrs.before[axis]) && is_size(attrs.after[axis]),
        "padding out of range on axis " + std::to_string(axis),
        "0 to " + std::to_string(kMaxWindow),
        "before " + std::to_string(attrs.before[axis]) + ", after " +
            std::to_string(attrs.after[axis]),
        "Remove elements with slice.");
  }
}

void pad_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<PadAttrs>();
  Shape result = ctx.shape(0);
  require_pad_attrs(ctx, attrs, result.rank());
  for (int axis = 0; axis < result.rank(); ++axis) {
    require_extent(ctx, attrs, axis, result[axis]);
    const std::int64_t padding = attrs.before[axis] + attrs.after[axis];
    result[axis] = checked_add(result[axis], padding, "a padded axis");
  }
  ctx.add_result(result, ctx.data_type(0));
}

void pad_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<PadAttrs>();
  const int axis = ctx.axis(0).axis;
  if (axis >= 0 && (attrs.before[axis] != 0 || attrs.after[axis] != 0)) {
    ctx.refuse("padding on axis " + std::to_string(axis) +
               " is as many entries at any batch size");
  }
  ctx.set(0, ctx.axis(0));
}

void pad_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto attrs = ctx.attrs<PadAttrs>();
  ctx.set(0, ctx.append(OpKind::PadGradient, attrs, {ctx.result_gradient()}));
}

void pad_gradient_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<PadAttrs>();
  Shape result = ctx.shape(0);
  require_pad_attrs(ctx, attrs, result.rank());
  for (int axis = 0; axis < result.rank(); ++axis) {
    const std::int64_t padding = attrs.before[axis] + attrs.after[axis];
    if (padding >= result[axis]) {
      ctx.fail_shape("padding leaves nothing of axis " + std::to_string(axis),
                     "a size above " + std::to_string(padding),
                     std::to_string(result[axis]));
    }
    result[axis] -= padding;
    require_extent(ctx, attrs, axis, result[axis]);
  }
  ctx.add_result(result, ctx.data_type(0));
}

/// The adjoint of the adjoint: pad itself, but linear, so without the constant.
void pad_gradient_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  auto attrs = ctx.attrs<PadAttrs>();
  attrs.value = 0;
  ctx.set(0, ctx.append(OpKind::Pad, attrs, {ctx.result_gradient()}));
}

/// Zeros and constants have no gradient.
double pad_gradient_flops(const Program& program, const Node& node) {
  const PaddingType type = std::get<PadAttrs>(node.attrs).type;
  const bool repeats =
      type != PaddingType::Zero && type != PaddingType::Constant;
  return repeats ? flops::per_element(program, node) : 0;
}

}  // namespace

OpDef define_slice() {
  return {.inputs = {{.name = "x", .types = kAnyType, .is_picked = true}},
          .results = {"y"},
          .shape_rule = slice_shape,
          .flops = flops::moves,
          .batch_rule = slice_batch,
          .resize = resize_slice,
          .gradient_rule = slice_rule};
}

OpDef define_slice_gradient() {
  return {.inputs = {{"gradient", kAnyType}},
          .results = {"dx"},
          .shape_rule = slice_gradient_shape,
          .flops = flops::moves,
          .batch_rule = slice_gradient_batch,
          .resize = resize_slice_gradient,
          .gradient_rule = slice_gradient_rule};
}

OpDef define_pad() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = pad_shape,
          .flops = flops::moves,
          .batch_rule = pad_batch,
          .gradient_rule = pad_rule};
}

OpDef define_pad_gradient() {
  return {.inputs = {{"gradient"}},
          .results = {"dx"},
          .shape_rule = pad_gradient_shape,
          .flops = pad_gradient_flops,
          .batch_rule = pad_batch,
          .gradient_rule = pad_gradient_rule};
}

}  // namespace traingraph
