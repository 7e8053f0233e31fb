// SPDX-License-Identifier: MIT
// Expressions on the results of a graph, with NumPy's meaning of operators,
// broadcasting, axes and indices. Each adds its nodes to the graph at once:
//
//   Tensor h = graph.node(dense, x);                     // (64, 10)
//   Tensor z = (h - mean(h, {1}, /*keepdims=*/true)) * 0.5 + 1;
//   Tensor first = index(z, {Range{}, 0});               // (64)
//
// At least one operand is a result of a graph, which says where the nodes go.
// The others are numbers, which become constants of the other operand's type;
// inputs and parameters; and tensors that have values, which are constants. A
// Boolean operand of arithmetic counts as 0 and 1.
//
// == is the identity of handles, by which containers find tensors; equal() is
// the node. Tensors have at least one axis: what NumPy makes a scalar is (1).
//
// ShapeError, DTypeError and InvalidArgument name the operands; so does
// StateError, for a graph that was compiled or is gone.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "traingraph/tensor.h"

namespace traingraph {

/// One side of an operator.
struct Operand {
  Operand(Tensor tensor) : value(std::move(tensor)) {}
  Operand(double number) : value(number) {}
  std::variant<Tensor, double> value;
};

// Arithmetic. Of a number and a result it is one cheap node, a * x + b, where
// that is the same.

TRAINGRAPH_API Tensor operator+(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor operator-(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor operator*(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor operator/(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor operator-(const Tensor& x);
TRAINGRAPH_API Tensor pow(const Operand& x, const Operand& y);
/// Products over the last two axes; the axes before broadcast. An operand of
/// one axis is a row on the left and a column on the right.
TRAINGRAPH_API Tensor matmul(const Tensor& x, const Tensor& y);

// Comparisons: Boolean results, through which no gradient goes.

TRAINGRAPH_API Tensor equal(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor not_equal(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor less(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor less_or_equal(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor greater(const Operand& x, const Operand& y);
TRAINGRAPH_API Tensor greater_or_equal(const Operand& x, const Operand& y);

// Functions of each element.

TRAINGRAPH_API Tensor abs(const Tensor& x);  // its gradient at 0 is 0
TRAINGRAPH_API Tensor exp(const Tensor& x);
TRAINGRAPH_API Tensor log(const Tensor& x);
TRAINGRAPH_API Tensor sqrt(const Tensor& x);
TRAINGRAPH_API Tensor tanh(const Tensor& x);
TRAINGRAPH_API Tensor sigmoid(const Tensor& x);
TRAINGRAPH_API Tensor relu(const Tensor& x);
/// The same numbers as another type.
TRAINGRAPH_API Tensor astype(const Tensor& x, DataType type);

// Reductions over `axes`, negative ones from the end; none: over all.
// `keepdims`: they stay, with size 1.

TRAINGRAPH_API Tensor sum(const Tensor& x, const Shape& axes = {},
                          bool keepdims = false);
TRAINGRAPH_API Tensor mean(const Tensor& x, const Shape& axes = {},
                           bool keepdims = false);
TRAINGRAPH_API Tensor max(const Tensor& x, const Shape& axes = {},
                          bool keepdims = false);
TRAINGRAPH_API Tensor min(const Tensor& x, const Shape& axes = {},
                          bool keepdims = false);

// Shapes.

/// Same elements; one size may be -1.
TRAINGRAPH_API Tensor reshape(const Tensor& x, const Shape& shape);
/// Result axis k is axis axes[k] of x; no axes: the reverse order.
TRAINGRAPH_API Tensor transpose(const Tensor& x, const Shape& axes = {});

/// start, start + step ... before stop; below 0 both count from the end, and
/// what is outside of the axis is left out.
struct Range {
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  std::int64_t start = 0, stop = kEnd, step = 1;
};
/// A new axis of size 1.
struct NewAxis {};
/// As many whole axes as the other indices leave.
struct Ellipsis {};
/// A position ends its axis, and counts from the end when it is below 0.
using Index = std::variant<std::int64_t, Range, NewAxis, Ellipsis>;

/// The elements that `indices` name, one entry for each axis of x from the
/// first; further axes stay whole. x itself where that is all of it. Steps are
/// positive; Graph::gather() takes elements in any order.
TRAINGRAPH_API Tensor index(const Tensor& x, const std::vector<Index>& indices);

}  // namespace traingraph
