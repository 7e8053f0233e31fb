// SPDX-License-Identifier: MIT
// Ops that move elements without dropping or adding any.
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {

void lower_reshape(GraphBuilder& b) {
  b.set(b.reshape(b.input(0), b.result_shape()));
}

void lower_transpose(GraphBuilder& b) {
  b.set(b.transpose(b.input(0), b.attrs<TransposeAttrs>().axes));
}

void lower_concatenate(GraphBuilder& b) {
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  for (int i = 0; i < b.num_inputs(); ++i) [parts addObject:moved_input(b, i)];
  const auto axis = static_cast<int>(b.attrs<AxisAttrs>().axis);
  set_moved(b, concatenate(b, parts, axis));
}

void lower_split(GraphBuilder& b) {
  const auto& attrs = b.attrs<SplitAttrs>();
  const T x = moved_input(b, 0);
  std::int64_t start = 0;
  for (int i = 0; i < attrs.lengths.rank(); ++i) {
    const auto axis = static_cast<int>(attrs.axis);
    set_moved(b, slice_axis(b, x, axis, start, attrs.lengths[i]), i);
    start += attrs.lengths[i];
  }
}

}  // namespace traingraph::metal
