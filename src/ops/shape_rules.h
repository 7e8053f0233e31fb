// SPDX-License-Identifier: MIT
// What the shape and gradient rules of several op families share: broadcasting,
// reduced shapes, and short builders for the ops that gradients are made of.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "graph/op_def.h"

namespace traingraph {

/// NumPy's broadcast of two shapes; empty when they do not fit.
std::optional<Shape> broadcast_shapes(const Shape& x, const Shape& y);
/// Broadcast of the given inputs; throws ShapeError naming the pair that does
/// not fit.
Shape broadcast_inputs(const ShapeContext& ctx,
                       std::initializer_list<int> inputs);
/// Every axis once, ascending, when `axes` is empty; else `axes`.
Shape resolve_axes(const Shape& axes, int rank);
/// `shape` with size 1 on `axes`; no axes: on all.
Shape reduced_shape(const Shape& shape, const Shape& axes);
/// Throws unless `axes` are distinct axes of a tensor of `rank`.
void require_axes(const ShapeContext& ctx, const char* attribute,
                  const Shape& axes, int rank);
/// Throws unless `shape` has at least one axis and positive sizes only.
void require_sizes(const ShapeContext& ctx, const char* attribute,
                   const Shape& shape);
/// "x (64, 3)": an input with its shape, for messages.
std::string describe_input(const ShapeContext& ctx, int input);

/// The shape rule of an op with one result like input `kInput`.
template <int kInput>
void same_shape_as(ShapeContext& ctx) {
  ctx.add_result(ctx.shape(kInput), ctx.data_type(kInput));
}

// Builders for gradient rules. Appending moves the program's nodes and values,
// so take copies of attributes and shapes before the first append; that is why
// these take shapes by value.
namespace grad {

Shape shape_of(GradContext& ctx, ValueId value);
DataType type_of(GradContext& ctx, ValueId value);

ValueId unary(GradContext& ctx, ArithmeticOperation operation, ValueId x);
ValueId binary(GradContext& ctx, ArithmeticOperation operation, ValueId x,
               ValueId y);
ValueId add(GradContext& ctx, ValueId x, ValueId y);
ValueId subtract(GradContext& ctx, ValueId x, ValueId y);
ValueId multiply(GradContext& ctx, ValueId x, ValueId y);
ValueId divide(GradContext& ctx, ValueId x, ValueId y);
/// a * x + b
ValueId linear(GradContext& ctx, ValueId x, float a, float b = 0);
ValueId negate(GradContext& ctx, ValueId x);
/// Compares with broadcasting; the result is Boolean.
ValueId compare(GradContext& ctx, ComparisonOperation operation, ValueId x,
                ValueId y);
/// Boolean: is x what the maximum or minimum y was taken from? Each NaN is.
ValueId is_extremum(GradContext& ctx, ValueId x, ValueId y);
/// condition ? x : y, broadcast.
ValueId select(GradContext& ctx, ValueId condition, ValueId x, ValueId y);
/// Appends nothing when x has the type already.
ValueId cast(GradContext& ctx, ValueId x, DataType type);
/// Shape and type of `like`.
ValueId fill_like(GradContext& ctx, ValueId like, float value);
/// Shape (1), the type of `like`; broadcasts against anything.
ValueId scalar_like(GradContext& ctx, ValueId like, float value);
/// Axes stay with size 1; no axes: all.
ValueId reduce(GradContext& ctx, ReductionType type, ValueId x,
               Shape axes = {});
/// These three append nothing when x has the shape already.
ValueId reshape(GradContext& ctx, ValueId x, Shape shape);
ValueId broadcast_to(GradContext& ctx, ValueId x, Shape shape);
/// The adjoint of broadcast_to: sums over the axes that were broadcast.
ValueId sum_to(GradContext& ctx, ValueId x, Shape shape);

}  // namespace grad
}  // namespace traingraph
