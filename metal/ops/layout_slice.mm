// SPDX-License-Identifier: MIT
// Slice, and its gradient axis by axis: MPSGraph's own gradient op fails on
// some systems, zeros between and around the elements never do.
#include <algorithm>

#import "metal/fold.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {
namespace {

/// (P, m, R) with stride - 1 zeros between the m elements.
T spread(GraphBuilder& b, T x, const Shape& shape, std::int64_t stride) {
  const std::int64_t count = shape[1];
  if (stride == 1 || count == 1) return x;
  x = b.reshape(x, {shape[0] * count, 1, shape[2]});
  x = pad_middle(b, x, 0, stride - 1);
  x = b.reshape(x, {shape[0], count * stride, shape[2]});
  return slice_axis(b, x, 1, 0, (count - 1) * stride + 1);
}

}  // namespace

void lower_slice(GraphBuilder& b) {
  const auto& attrs = b.attrs<SliceAttrs>();
  const Shape ones = Shape::filled(attrs.start.rank(), 1);
  const Shape& strides = attrs.stride.empty() ? ones : attrs.stride;
  T slice = [b.graph() sliceTensor:moved_input(b, 0)
                            starts:ns_shape(attrs.start)
                              ends:ns_shape(attrs.end)
                           strides:ns_shape(strides)
                              name:b.name()];
  const std::int64_t longest_step = *std::ranges::max_element(strides);
  set_moved(b,
            with_near_rows(b, slice, b.input_shape(0).back() * longest_step));
}

void lower_slice_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<SliceGradientAttrs>();
  T x = moved_input(b, 0);
  Shape shape = b.input_shape(0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t count = shape[axis], size = attrs.shape[axis];
    if (count == size) continue;
    const std::int64_t stride = attrs.stride.empty() ? 1 : attrs.stride[axis];
    const std::int64_t end = attrs.start[axis] + (count - 1) * stride + 1;
    const Shape folded = around_axis(shape, axis);
    x = spread(b, b.reshape(x, folded), folded, stride);
    x = pad_middle(b, x, attrs.start[axis], size - end);
    shape[axis] = size;
  }
  set_moved(b, x);
}

}  // namespace traingraph::metal
