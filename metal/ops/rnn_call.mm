// SPDX-License-Identifier: MIT
#import "metal/ops/rnn_call.h"

#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/matmul_product.h"

namespace traingraph::metal {

RnnNode::RnnNode(GraphBuilder& b)
    : b_(b),
      op_(rnn::op_of(b.node().op->kind)),
      size_{b.input_shape(op_.sequence())[0], b.input_shape(op_.sequence())[1],
            b.input_shape(op_.input(Operand::Weights))[1]} {}

bool RnnNode::has(Operand operand, bool is_gradient) const {
  const int i = op_.input(operand, is_gradient);
  return i >= 0 && b_.has(i);
}

T RnnNode::input(Operand operand, bool is_gradient) {
  if (!has(operand, is_gradient)) return nil;
  return b_.input(op_.input(operand, is_gradient));
}

T RnnNode::input_or_zeros(Operand operand, bool is_gradient) {
  if (has(operand, is_gradient)) return input(operand, is_gradient);
  return zeros(shape(operand));
}

T RnnNode::zeros(const Shape& shape) {
  return [b_.graph() constantWithScalar:0
                                  shape:ns_shape(shape)
                               dataType:mps_data_type(b_.compute_type())];
}

void RnnNode::set(T x, Operand operand) {
  const int result = op_.result(operand, op_.is_gradient());
  if (result >= 0) b_.set(reshaped(x, shape(operand)), result);
}

T RnnNode::reshaped(T x, const Shape& shape) {
  return shape_of(x) == shape ? x : b_.reshape(x, shape);
}

T RnnNode::blocks_of(T x, int axis, std::int64_t first, std::int64_t count) {
  return slice_axis(b_, x, axis, first * size_.hidden, count * size_.hidden);
}

RnnCall::RnnCall(GraphBuilder& b)
    : RnnNode(b),
      weights_(op_.input(Operand::Weights)),
      own_(b.node_id()),
      is_reverse_(traingraph::is_reverse(attrs()) ? YES : NO) {
  if (!kMpsRunsBothDirections) return;
  pair_ = find_rnn_pair(b.program(), own_, weights_);
  // The other one may be of another unit.
  if (pair_ && !b.has_value(b.program().node(pair_->forward).outputs[0])) {
    pair_.reset();
  }
}

T RnnCall::whole(Operand operand, bool is_gradient) {
  if (!pair_ || !has(operand, is_gradient)) return input(operand, is_gradient);
  const int i = op_.input(operand, is_gradient);
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

T RnnCall::whole_or_zeros(Operand operand, bool is_gradient) {
  if (has(operand, is_gradient)) return whole(operand, is_gradient);
  Shape of_all = shape(operand);
  if (pair_) of_all[of_all.rank() - 1] *= 2;
  return zeros(of_all);
}

T RnnCall::part(T x, Operand operand, int direction) {
  if (!pair_) return x;
  const Shape own = shape(operand);
  if (operand == Operand::Weights) {
    T both = b_.reshape(x, {2, own[0], own[1]});
    return slice_axis(b_, both, 0, direction, 1);
  }
  Shape both = own;
  const int axis = own.rank() - 1;
  both[axis] *= 2;
  return slice_axis(b_, reshaped(x, both), axis, direction * own[axis],
                    own[axis]);
}

T RnnCall::last_row(T states) {
  const bool is_reverse = traingraph::is_reverse(attrs());
  return slice_axis(b_, states, 0, is_reverse ? 0 : size_.steps - 1, 1);
}

T RnnCall::shifted(T states, T first) {
  const bool is_reverse = traingraph::is_reverse(attrs());
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  [parts addObject:b_.reshape(first, {1, size_.samples, size_.hidden})];
  if (size_.steps > 1) {
    T others = slice_axis(b_, states, 0, is_reverse ? 1 : 0, size_.steps - 1);
    [parts insertObject:others atIndex:is_reverse ? 0 : 1];
  }
  return concatenate(b_, parts, 0);
}

T RnnCall::product_of_steps(T x, std::int64_t first, std::int64_t count) {
  T weights = input(Operand::Weights);
  if (count < op_.num_gates) weights = blocks_of(weights, 0, first, count);
  const std::int64_t rows = size_.steps * size_.samples;
  T product =
      matrix_product(b_, b_.reshape(x, {rows, count * size_.hidden}), weights);
  return b_.reshape(product, shape(Operand::Hidden));
}

}  // namespace traingraph::metal
