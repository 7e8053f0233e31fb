// SPDX-License-Identifier: MIT
#import "metal/ops/rnn_unrolled.h"

#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/matmul_product.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {

UnrolledSteps::UnrolledSteps(GraphBuilder& b, const RnnSize& size,
                             bool is_reverse, int mask, int lengths)
    : b_(b),
      size_(size),
      is_reverse_(is_reverse),
      mask_(input_or_nil(b, mask)),
      lengths_(input_or_nil(b, lengths)) {}

T UnrolledSteps::step_of(T x, std::int64_t step) {
  const Shape shape{size_.samples, [[[x shape] lastObject] longLongValue]};
  return b_.reshape(slice_axis(b_, x, 0, step, 1), shape);
}

T UnrolledSteps::block_of(T x, std::int64_t block, std::int64_t count) {
  const auto axis = static_cast<int>([[x shape] count]) - 1;
  return slice_axis(b_, x, axis, block * size_.hidden, count * size_.hidden);
}

T UnrolledSteps::rows_of(T weights, std::int64_t block, std::int64_t count) {
  return slice_axis(b_, weights, 0, block * size_.hidden, count * size_.hidden);
}

T UnrolledSteps::join_blocks(std::span<const T> blocks) {
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  for (T block : blocks) [parts addObject:block];
  return concatenate(b_, parts, 1);
}

T UnrolledSteps::join_steps(const std::vector<T>& steps, const Shape& shape) {
  NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
  for (T step : steps) {
    [parts addObject:b_.reshape(step, {1, shape[1], shape[2]})];
  }
  return concatenate(b_, parts, 0);
}

T UnrolledSteps::has_step(std::int64_t step) {
  if (!lengths_) return nil;
  T later = b_.greater(lengths_, static_cast<double>(step));
  return b_.reshape(later, {size_.samples, 1});
}

T UnrolledSteps::product(T x, T y) { return matrix_product(b_, x, y); }

T UnrolledSteps::saved_value(const ActivationAttrs& f, T saved) {
  return has_slope_of_result(f) ? saved : activation_value(b_, f, saved);
}

T UnrolledSteps::saved_slope(const ActivationAttrs& f, T saved) {
  if (!has_slope_of_result(f)) return activation_slope(b_, f, saved);
  switch (f.type) {
    case ActivationType::Sigmoid:
      return b_.mul(saved, b_.sub(1.0, saved));
    case ActivationType::Tanh:
      return b_.mul(b_.sub(f.a, b_.div(b_.square(saved), f.a)), f.b);
    case ActivationType::HardSigmoid:
      return b_.select(b_.both(b_.greater(saved, 0.0), b_.less(saved, 1.0)),
                       f.a, 0.0, type());
    case ActivationType::ReLU:
      return b_.select(b_.greater(saved, 0.0), 1.0, f.a, type());
    default:
      return b_.scalar(f.type == ActivationType::Linear ? f.a : 1, type());
  }
}

T UnrolledSteps::gate_gradient(const ActivationAttrs& f, T saved, T d, T more) {
  if (!has_slope_of_result(f)) {
    return sum(b_.mul(d, saved_slope(f, saved)), more);
  }
  return b_.mul(sum(d, more), saved_slope(f, saved));
}

}  // namespace traingraph::metal
