// SPDX-License-Identifier: MIT
#import "metal/ops/rnn_call.h"

#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {

RnnCall::RnnCall(GraphBuilder& b, const Shape& gates, int weights,
                 bool is_reverse)
    : b_(b),
      weights_(weights),
      own_(b.node_id()),
      size_(rnn_size(gates, b.input_shape(weights))),
      is_reverse_(is_reverse ? YES : NO) {
  if (!kMpsRunsBothDirections) return;
  pair_ = find_rnn_pair(b.program(), own_, weights);
  // The other one may be of another unit.
  if (pair_ && !b.has_value(b.program().node(pair_->forward).outputs[0])) {
    pair_.reset();
  }
}

T RnnCall::input(int i) {
  if (!pair_ || !b_.has(i)) return input_or_nil(b_, i);
  const ValueId whole = pair_->whole[static_cast<std::size_t>(i)];
  if (whole != kNoValue && b_.has_value(whole)) return b_.read(whole);
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  for (NodeId id : {pair_->forward, own_}) {
    T part = b_.read(b_.program().node(id).inputs[static_cast<std::size_t>(i)]);
    const Shape& shape = b_.input_shape(i);
    [parts addObject:i == weights_ ? b_.reshape(part, {1, shape[0], shape[1]})
                                   : part];
  }
  const int axis = i == weights_ ? 0 : b_.input_shape(i).rank() - 1;
  return concatenate(b_, parts, axis);
}

T RnnCall::input_or_zeros(int i, const Shape& of_one_direction) {
  if (b_.has(i)) return input(i);
  Shape shape = of_one_direction;
  if (pair_) shape[shape.rank() - 1] *= 2;
  return traingraph::metal::input_or_zeros(b_, i, shape);
}

T RnnCall::part(T x, int direction) {
  if (!pair_) return x;
  const auto axis = static_cast<int>([[x shape] count]) - 1;
  const std::int64_t width = [[[x shape] lastObject] longLongValue] / 2;
  return slice_axis(b_, x, axis, direction * width, width);
}

T RnnCall::part_of_weights(T x, int direction, const Shape& weights) {
  if (!pair_) return b_.reshape(x, weights);
  T both = b_.reshape(x, {2, weights[0], weights[1]});
  return b_.reshape(slice_axis(b_, both, 0, direction, 1), weights);
}

}  // namespace traingraph::metal
