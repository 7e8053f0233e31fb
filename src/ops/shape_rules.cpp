// SPDX-License-Identifier: MIT
#include "ops/shape_rules.h"

#include <algorithm>
#include <utility>

namespace traingraph {

std::optional<Shape> broadcast_shapes(const Shape& x, const Shape& y) {
  const Shape& longer = x.rank() >= y.rank() ? x : y;
  const Shape& shorter = x.rank() >= y.rank() ? y : x;
  const int offset = longer.rank() - shorter.rank();
  Shape result = longer;
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    std::int64_t& size = result[offset + axis];
    if (size == 1) size = shorter[axis];
    if (shorter[axis] != size && shorter[axis] != 1) return std::nullopt;
  }
  return result;
}

std::string describe_input(const ShapeContext& ctx, int input) {
  return std::string(ctx.input_name(input)) + " " +
         ctx.shape(input).to_string();
}

Shape broadcast_inputs(const ShapeContext& ctx,
                       std::initializer_list<int> inputs) {
  Shape result;
  std::string got;
  for (int input : inputs) {
    got += (got.empty() ? "" : " and ") + describe_input(ctx, input);
    const auto next = broadcast_shapes(result, ctx.shape(input));
    if (!next) {
      ctx.fail_shape("shapes do not broadcast",
                     "sizes that are equal or 1, from the last axis", got);
    }
    result = *next;
  }
  return result;
}

Shape resolve_axes(const Shape& axes, int rank) {
  if (!axes.empty()) return axes;
  Shape all;
  for (int axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

Shape reduced_shape(const Shape& shape, const Shape& axes) {
  Shape result = shape;
  for (std::int64_t axis : resolve_axes(axes, shape.rank())) {
    result[static_cast<int>(axis)] = 1;
  }
  return result;
}

void require_axes(const ShapeContext& ctx, const char* attribute,
                  const Shape& axes, int rank) {
  std::uint32_t seen = 0;
  for (std::int64_t axis : axes) {
    ctx.require_axis(attribute, axis, rank);
    ctx.require_attribute((seen >> axis & 1u) == 0,
                          std::string(attribute) + " names an axis twice",
                          "distinct axes", axes.to_string());
    seen |= 1u << axis;
  }
}

void require_sizes(const ShapeContext& ctx, const char* attribute,
                   const Shape& shape) {
  const bool ok =
      !shape.empty() && std::all_of(shape.begin(), shape.end(),
                                    [](std::int64_t size) { return size > 0; });
  ctx.require_attribute(ok, std::string(attribute) + " is no shape of a tensor",
                        "one or more sizes of at least 1", shape.to_string());
}

namespace grad {

Shape shape_of(GradContext& ctx, ValueId value) {
  return ctx.program().shape(value);
}

DataType type_of(GradContext& ctx, ValueId value) {
  return ctx.program().desc(value).data_type;
}

ValueId unary(GradContext& ctx, ArithmeticOperation operation, ValueId x) {
  return ctx.append(OpKind::Unary, ArithmeticAttrs{operation}, {x});
}

ValueId binary(GradContext& ctx, ArithmeticOperation operation, ValueId x,
               ValueId y) {
  return ctx.append(OpKind::Binary, ArithmeticAttrs{operation}, {x, y});
}

ValueId add(GradContext& ctx, ValueId x, ValueId y) {
  return binary(ctx, ArithmeticOperation::Add, x, y);
}

ValueId subtract(GradContext& ctx, ValueId x, ValueId y) {
  return binary(ctx, ArithmeticOperation::Subtract, x, y);
}

ValueId multiply(GradContext& ctx, ValueId x, ValueId y) {
  return binary(ctx, ArithmeticOperation::Multiply, x, y);
}

ValueId divide(GradContext& ctx, ValueId x, ValueId y) {
  return binary(ctx, ArithmeticOperation::Divide, x, y);
}

ValueId linear(GradContext& ctx, ValueId x, float a, float b) {
  return ctx.append(
      OpKind::Activation,
      ActivationAttrs{.type = ActivationType::Linear, .a = a, .b = b}, {x});
}

ValueId negate(GradContext& ctx, ValueId x) { return linear(ctx, x, -1); }

ValueId compare(GradContext& ctx, ComparisonOperation operation, ValueId x,
                ValueId y) {
  return ctx.append(OpKind::Compare, CompareAttrs{operation}, {x, y});
}

ValueId is_extremum(GradContext& ctx, ValueId x, ValueId y) {
  return compare(ctx, ComparisonOperation::LogicalOR,
                 compare(ctx, ComparisonOperation::Equal, x, y),
                 compare(ctx, ComparisonOperation::NotEqual, x, x));
}

ValueId select(GradContext& ctx, ValueId condition, ValueId x, ValueId y) {
  return ctx.append(OpKind::Select, NoAttrs{}, {condition, x, y});
}

ValueId cast(GradContext& ctx, ValueId x, DataType type) {
  if (type_of(ctx, x) == type) return x;
  return ctx.append(OpKind::Cast, CastAttrs{type}, {x});
}

ValueId fill_like(GradContext& ctx, ValueId like, float value) {
  return ctx.append(OpKind::Fill,
                    FillAttrs{shape_of(ctx, like), value, type_of(ctx, like)},
                    {});
}

ValueId scalar_like(GradContext& ctx, ValueId like, float value) {
  return ctx.append(OpKind::Fill,
                    FillAttrs{Shape{1}, value, type_of(ctx, like)}, {});
}

ValueId reduce(GradContext& ctx, ReductionType type, ValueId x, Shape axes) {
  return ctx.append(OpKind::Reduce, ReduceAttrs{type, axes}, {x});
}

ValueId reshape(GradContext& ctx, ValueId x, Shape shape) {
  if (shape_of(ctx, x) == shape) return x;
  return ctx.append(OpKind::Reshape, ShapeAttrs{shape}, {x});
}

ValueId broadcast_to(GradContext& ctx, ValueId x, Shape shape) {
  if (shape_of(ctx, x) == shape) return x;
  return ctx.append(OpKind::BroadcastTo, ShapeAttrs{shape}, {x});
}

ValueId sum_to(GradContext& ctx, ValueId x, Shape shape) {
  const Shape from = shape_of(ctx, x);
  const int offset = from.rank() - shape.rank();
  Shape axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const std::int64_t target = axis < offset ? 1 : shape[axis - offset];
    if (target == 1 && from[axis] != 1) axes.push_back(axis);
  }
  if (!axes.empty()) x = reduce(ctx, ReductionType::Sum, x, axes);
  return reshape(ctx, x, shape);
}

}  // namespace grad
}  // namespace traingraph
