// SPDX-License-Identifier: MIT
#import "metal/ops/gather_indices.h"

#include <algorithm>
#include <cmath>

#import "metal/ops/layout_moves.h"

namespace traingraph::metal {

Positions positions(GraphBuilder& b, int input, const Shape& shape,
                    std::int64_t count) {
  T given = b.reshape(b.input(input), shape);
  T is_inside =
      b.both(b.at_least(given, 0.0), b.less(given, static_cast<double>(count)));
  // 64 bits are compared as such; what does not fit into 32 is not inside.
  T at = b.input_desc(input).data_type == DataType::Int32
             ? given
             : b.cast(given, DataType::Int32);
  return {b.select(is_inside, at, 0.0), is_inside};
}

T nan_outside(GraphBuilder& b, T x, T is_inside) {
  const bool is_integer =
      [x dataType] == MPSDataTypeInt32 || [x dataType] == MPSDataTypeInt64;
  if ([x dataType] == MPSDataTypeInt8) return b.select(is_inside, x, 0.0);
  return b.select(is_inside, x, is_integer ? -1.0 : std::nan(""));
}

T nan_unless_all(GraphBuilder& b, T x, T is_inside, const Shape& shape) {
  Shape axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  T least = b.minimum(b.cast(is_inside, DataType::Float32), shape, axes);
  return nan_outside(b, x, b.greater(b.reshape(least, {1}), 0.5));
}

bool is_narrow(GraphBuilder& b, T x) {
  const Shape shape = shape_of(x);
  const bool is_column =
      shape.back() == 1 && std::ranges::count(shape, 1) + 1 >= shape.rank();
  return is_column && b.limits().min_gather_columns > 1;
}

T repeated_column(GraphBuilder& b, T x) {
  Shape shape = shape_of(x);
  shape[shape.rank() - 1] = b.limits().min_gather_columns;
  return b.broadcast(x, shape);
}

T first_column(GraphBuilder& b, T x) {
  return slice_axis(b, x, shape_of(x).rank() - 1, 0, 1);
}

T gather_slices(GraphBuilder& b, T x, T at, int axis) {
  const bool repeats = is_narrow(b, x);
  T from = repeats ? repeated_column(b, x) : x;
  T named = [b.graph() gatherWithUpdatesTensor:from
                                 indicesTensor:at
                                          axis:static_cast<NSUInteger>(axis)
                               batchDimensions:0
                                          name:b.name()];
  return repeats ? first_column(b, named) : named;
}

T gather_rows(GraphBuilder& b, T table, T at) {
  return gather_slices(b, table, at, 0);
}

namespace {

/// (k) to (k, 1): lists of one position each.
T as_lists(GraphBuilder& b, T at) {
  return [b.graph() expandDimsOfTensor:at axis:-1 name:b.name()];
}

}  // namespace

T add_rows(GraphBuilder& b, T rows, T at, const Shape& shape) {
  return [b.graph() scatterNDWithUpdatesTensor:rows
                                 indicesTensor:as_lists(b, at)
                                         shape:ns_shape(shape)
                               batchDimensions:0
                                          mode:MPSGraphScatterModeAdd
                                          name:b.name()];
}

T set_rows(GraphBuilder& b, T table, T rows, T at) {
  return [b.graph() scatterNDWithDataTensor:table
                              updatesTensor:rows
                              indicesTensor:as_lists(b, at)
                            batchDimensions:0
                                       mode:MPSGraphScatterModeSet
                                       name:b.name()];
}

}  // namespace traingraph::metal
