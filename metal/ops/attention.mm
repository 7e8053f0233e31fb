// SPDX-License-Identifier: MIT
// Attention and its gradient, composed: MPSGraph's own op has no gradient, no
// dropout and needs macOS 15. Heads become matrices of their own, and the
// scores of all of them a tensor (N * heads, L, S).
#include <cmath>
#include <limits>

#include "metal/kernels/dropout.h"
#import "metal/ops/matmul_product.h"

namespace traingraph::metal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Numbers of the inputs that both ops have.
struct Inputs {
  int query, key, value, key_mask, attention_mask;
};

class Attention {
 public:
  Attention(GraphBuilder& b, const Inputs& in)
      : b_(b),
        in_(in),
        heads_(b.attrs<AttentionAttrs>().head_count),
        samples_(b.input_shape(in.query)[0]),
        queries_(b.input_shape(in.query)[1]),
        keys_(b.input_shape(in.key)[1]) {}

  std::int64_t num_matrices() const { return samples_ * heads_; }
  Shape scores_shape() const { return {num_matrices(), queries_, keys_}; }
  Shape rows_shape() const { return {num_matrices(), queries_, 1}; }

  /// (N, length, heads * width) -> matrices (length, width).
  MatrixOperand split(int input, bool is_transposed = false) const {
    const Shape& x = b_.input_shape(input);
    const std::int64_t width = x[2] / heads_;
    const T heads = b_.reshape(b_.input(input), {x[0], x[1], heads_, width});
    const Shape shape{num_matrices(), x[1], width};
    return {b_.reshape(b_.transpose(heads, {0, 2, 1, 3}), shape), shape,
            is_transposed};
  }

  /// The reverse, for a result.
  T join(T matrices, int result) const {
    const Shape& y = b_.result_shape(result);
    const T heads = b_.reshape(matrices, {y[0], heads_, y[1], y[2] / heads_});
    return b_.reshape(b_.transpose(heads, {0, 2, 1, 3}), y);
  }

  T multiply(const MatrixOperand& x, const MatrixOperand& y) const {
    return product(b_, x, y, num_matrices());
  }

  MatrixOperand of_scores(T scores, bool is_transposed = false) const {
    return {scores, scores_shape(), is_transposed};
  }

  double scale() const {
    const float scale = b_.attrs<AttentionAttrs>().scale;
    const std::int64_t width = b_.input_shape(in_.query)[2] / heads_;
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width));
  }

  T scores() const {
    T scores = b_.mul(
        multiply(split(in_.query), split(in_.key, /*is_transposed=*/true)),
        scale());
    if (b_.has(in_.attention_mask)) {
      const T mask = b_.input(in_.attention_mask);
      const bool is_hard =
          b_.input_desc(in_.attention_mask).data_type == DataType::Boolean;
      scores =
          is_hard ? b_.select(mask, -kInfinity, scores) : b_.add(scores, mask);
    }
    if (b_.has(in_.key_mask)) {
      const T mask = b_.broadcast(
          b_.reshape(b_.input(in_.key_mask), {samples_, 1, 1, keys_}),
          {samples_, heads_, 1, keys_});
      scores = b_.select(b_.reshape(mask, {num_matrices(), 1, keys_}),
                         -kInfinity, scores);
    }
    return scores;
  }

  struct Softmax {
    T weights, largest, sum;  // the last two by row
  };

  /// The softmax of the scores. The gradient op computes it again, which loses
  /// no digit: next to large scores their log_sum has few of its logarithm. A
  /// query that sees no key has weights and sum 0, and 0 for the largest.
  Softmax softmax() const {
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    const T scores = this->scores();
    T largest = b_.maximum(scores, scores_shape(), {2});
    largest = b_.select(b_.less(largest, kLowest), 0.0, largest);
    const T weights = b_.exp(b_.sub(scores, largest));
    const T sum = sum_over(weights, scores_shape());
    const T divisor = b_.select(b_.equal(sum, 0.0), 1.0, sum);
    return {b_.div(weights, divisor), largest, sum};
  }

  T sum_over(T x, const Shape& shape) const { return b_.sum(x, shape, {2}); }

  /// What dropout leaves.
  T drop(T x) const {
    const auto& attrs = b_.attrs<AttentionAttrs>();
    if (attrs.dropout == 0) return x;
    const DropoutAttrs dropout{.rate = attrs.dropout};
    return b_.select(b_.mask(), b_.mul(x, kept_scale(dropout)), 0.0);
  }

 private:
  GraphBuilder& b_;
  const Inputs in_;
  const std::int64_t heads_, samples_, queries_, keys_;
};

}  // namespace

void lower_attention(GraphBuilder& b) {
  const Inputs in{0, 1, 2, 3, 4};
  const Attention a(b, in);
  const auto [weights, largest, sum] = a.softmax();
  const T output = a.multiply(a.of_scores(a.drop(weights)), a.split(in.value));
  b.set(a.join(output, 0));
  b.set(b.reshape(b.add(largest, b.log(sum)), b.result_shape(1)), 1);
  b.set(b.broadcast(b.scalar(0, DataType::Float32), b.result_shape(2)), 2);
}

void lower_attention_gradient(GraphBuilder& b) {
  enum { kGradient = 0, kLogSumGradient = 9 };
  const Inputs in{1, 2, 3, 6, 7};
  const Attention a(b, in);
  const T weights = a.softmax().weights;
  const MatrixOperand gradient = a.split(kGradient);
  const T to_weights =
      a.drop(a.multiply(gradient, a.split(in.value, /*is_transposed=*/true)));
  // Equal to the sum of gradient times output. As a sum of these very products
  // it cancels where there is one visible key, and the gradient is 0.
  T offset = a.sum_over(b.mul(weights, to_weights), a.scores_shape());
  if (b.has(kLogSumGradient)) {
    offset = b.sub(offset, b.reshape(b.input(kLogSumGradient), a.rows_shape()));
  }
  const T scores = b.mul(weights, b.sub(to_weights, offset));
  b.set(
      a.join(b.mul(a.multiply(a.of_scores(scores), a.split(in.key)), a.scale()),
             0),
      0);
  b.set(a.join(b.mul(a.multiply(a.of_scores(scores, /*is_transposed=*/true),
                                a.split(in.query)),
                     a.scale()),
               1),
        1);
  b.set(a.join(a.multiply(a.of_scores(a.drop(weights), /*is_transposed=*/true),
                          gradient),
               2),
        2);
  b.set(scores, 3);
}

}  // namespace traingraph::metal
