// SPDX-License-Identifier: MIT
#import "metal/ops/gather_indices.h"

#include <cmath>

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
  return b.select(is_inside, x, std::nan(""));
}

T nan_unless_all(GraphBuilder& b, T x, T is_inside, const Shape& shape) {
  Shape axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  T least = b.minimum(b.cast(is_inside, DataType::Float32), shape, axes);
  return nan_outside(b, x, b.greater(b.reshape(least, {1}), 0.5));
}

T gather_rows(GraphBuilder& b, T table, T at) {
  return [b.graph() gatherWithUpdatesTensor:table
                              indicesTensor:at
                                       axis:0
                            batchDimensions:0
                                       name:b.name()];
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
