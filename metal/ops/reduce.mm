// SPDX-License-Identifier: MIT
// Reductions that keep the rank, broadcasting and the squared norm.
#import "metal/assumptions.h"
#import "metal/fold.h"
#import "metal/graph_builder.h"
#import "metal/ops/layout_moves.h"
#include "ops/shape_rules.h"

namespace traingraph::metal {
namespace {

using enum ReductionType;

/// Any or all: the extremum of 0 and 1, which every float type holds.
T reduce_booleans(GraphBuilder& b, T x, const Shape& shape, const Shape& axes,
                  bool is_any) {
  T number = b.cast(x, DataType::Float32);
  T extremum =
      is_any ? b.maximum(number, shape, axes) : b.minimum(number, shape, axes);
  return b.greater(extremum, 0.5);
}

constexpr int kMiddle = 1;

T index_of_maximum(GraphBuilder& b, T x) {
  return [b.graph() reductionArgMaximumWithTensor:x axis:kMiddle name:b.name()];
}

T index_of_minimum(GraphBuilder& b, T x) {
  return [b.graph() reductionArgMinimumWithTensor:x axis:kMiddle name:b.name()];
}

/// Int32 index along one axis. The first NaN wins, as in NumPy.
T index_of_extremum(GraphBuilder& b, T x, int axis, bool is_maximum) {
  static_assert(kArgReductionPicksFirstOfTies);
  const Shape shape = around_axis(b.input_shape(0), axis);
  x = b.reshape(x, shape);
  if (!is_float(b.input_desc(0).data_type)) {
    return b.reshape(
        is_maximum ? index_of_maximum(b, x) : index_of_minimum(b, x),
        b.result_shape());
  }
  T is_nan = b.select(b.is_nan(x), 1.0, 0.0, b.input_desc(0).data_type);
  T has_nan = b.greater(b.maximum(is_nan, shape, {kMiddle}), 0.0);
  T index = is_maximum ? index_of_maximum(b, x) : index_of_minimum(b, x);
  index = b.select(has_nan, index_of_maximum(b, is_nan), index);
  return b.reshape(index, b.result_shape());
}

T reduce(GraphBuilder& b, T x) {
  const auto& attrs = b.attrs<ReduceAttrs>();
  const Shape& shape = b.input_shape(0);
  const Shape axes = resolve_axes(attrs.axes, shape.rank());
  switch (attrs.type) {
    case None:
      break;
    case Sum:
      return b.sum(x, shape, axes);
    case Mean:
      return b.mean(x, shape, axes);
    case Max:
      return b.maximum(x, shape, axes);
    case Min:
      return b.minimum(x, shape, axes);
    case ArgMax:
    case ArgMin:
      return index_of_extremum(b, x, static_cast<int>(axes[0]),
                               attrs.type == ArgMax);
    case L1Norm:
      return b.sum(b.abs(x), shape, axes);
    case Any:
    case All:
      return reduce_booleans(b, x, shape, axes, attrs.type == Any);
  }
  return x;
}

}  // namespace

void lower_reduce(GraphBuilder& b) { b.set(reduce(b, b.input(0))); }

void lower_broadcast_to(GraphBuilder& b) {
  set_moved(b, b.broadcast(moved_input(b, 0), b.result_shape()));
}

/// The sum of 1, 2, 4 ... elements, by adding what is as far away.
void lower_cumulative_sum(GraphBuilder& b) {
  const auto& attrs = b.attrs<CumulativeSumAttrs>();
  const Shape folded =
      around_axis(b.input_shape(0), static_cast<int>(attrs.axis));
  const std::int64_t length = folded[kMiddle];
  const auto moved = [&](T x, std::int64_t distance) {
    if (distance >= length) {
      return [b.graph() constantWithScalar:0
                                     shape:ns_shape(folded)
                                  dataType:[x dataType]];
    }
    const std::int64_t first = attrs.reverse ? distance : 0;
    x = slice_axis(b, x, kMiddle, first, length - distance);
    return attrs.reverse ? pad_middle(b, x, 0, distance)
                         : pad_middle(b, x, distance, 0);
  };
  T x = b.reshape(b.input(0), folded);
  T sum = attrs.is_exclusive ? moved(x, 1) : x;
  for (std::int64_t distance = 1; distance < length; distance *= 2) {
    sum = b.add(sum, moved(sum, distance));
  }
  b.set(b.reshape(sum, b.result_shape()));
}

void lower_squared_norm(GraphBuilder& b) {
  const Shape& shape = b.input_shape(0);
  T sum = b.sum(b.square(b.input(0)), shape, resolve_axes({}, shape.rank()));
  b.set(b.reshape(sum, b.result_shape()));
}

}  // namespace traingraph::metal
