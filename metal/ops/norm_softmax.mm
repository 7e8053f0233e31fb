// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient, which takes the result. The
// logarithm of a softmax would underflow, so log-softmax is composed.
#import "metal/fold.h"
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

bool is_log(const GraphBuilder& b) {
  return b.attrs<SoftmaxAttrs>().operation == SoftmaxOperation::LogSoftmax;
}

Shape axes_of(const GraphBuilder& b) { return {b.attrs<SoftmaxAttrs>().axis}; }

T softmax(GraphBuilder& b, T x, const Shape& shape, int axis) {
  const bool is_folded = shape.rank() > b.limits().reliable_rank;
  if (is_folded) x = b.reshape(x, around_axis(shape, axis));
  T y = [b.graph() softMaxWithTensor:x axis:is_folded ? 1 : axis name:b.name()];
  return is_folded ? b.reshape(y, shape) : y;
}

T log_softmax(GraphBuilder& b, T x, const Shape& shape, const Shape& axes) {
  T shifted = b.sub(x, b.maximum(x, shape, axes));
  return b.sub(shifted, b.log(b.sum(b.exp(shifted), shape, axes)));
}

}  // namespace

void lower_softmax(GraphBuilder& b) {
  const Shape& shape = b.input_shape(0);
  const Shape axes = axes_of(b);
  b.set(is_log(b) ? log_softmax(b, b.input(0), shape, axes)
                  : softmax(b, b.input(0), shape, static_cast<int>(axes[0])));
}

void lower_softmax_gradient(GraphBuilder& b) {
  const Shape& shape = b.input_shape(1);
  const Shape axes = axes_of(b);
  T g = b.input(0), y = b.input(1);
  if (is_log(b)) {
    return b.set(b.sub(g, b.mul(b.exp(y), b.sum(g, shape, axes))));
  }
  b.set(b.mul(y, b.sub(g, b.sum(b.mul(g, y), shape, axes))));
}

}  // namespace traingraph::metal
