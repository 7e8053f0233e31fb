// SPDX-License-Identifier: MIT
// Instance, group and layer normalization and their gradient, composed: tensors
// are folded to (outer, groups, width, inner), statistics are (outer, groups,
// 1, 1), scale and shift (1, groups, width, 1). MPSGraph's own gradients of
// normalization assume that parameters are reduced as the statistics are.
#include "ops/norm_sample.h"
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

class Folded {
 public:
  Folded(GraphBuilder& b, int x)
      : b_(b), view_(b.input_shape(x), b.attrs<SampleNormAttrs>()) {}

  Shape shape() const {
    return {view_.outer, view_.groups, view_.width, view_.inner};
  }
  double row_length() const { return static_cast<double>(view_.row_length()); }
  double num_samples() const { return static_cast<double>(view_.outer); }

  T data(int input) const { return b_.reshape(b_.input(input), shape()); }
  T statistic(int input) const {
    return b_.reshape(b_.input(input), {view_.outer, view_.groups, 1, 1});
  }
  T running(int input) const {
    return b_.reshape(b_.input(input), {1, view_.groups, 1, 1});
  }
  T parameter(int input) const {
    return b_.reshape(b_.input(input), {1, view_.groups, view_.width, 1});
  }
  T of_row(T x) const { return b_.mean(x, shape(), {2, 3}); }
  T of_parameter(T x) const { return b_.sum(x, shape(), {0, 3}); }
  /// The mean over the samples of a statistic, as (groups).
  T of_samples(T statistic) const {
    const Shape rows{view_.outer, view_.groups, 1, 1};
    return b_.reshape(b_.mean(statistic, rows, {0}), {view_.groups});
  }
  /// A running statistic as that of every row.
  T of_rows(T running) const {
    return b_.broadcast(running, {view_.outer, view_.groups, 1, 1});
  }

 private:
  GraphBuilder& b_;
  SampleView view_;
};

/// 1 / sqrt(variance + epsilon)
T inverse_deviation(GraphBuilder& b, T variance) {
  return b.div(1, b.sqrt(b.add(variance, b.attrs<SampleNormAttrs>().epsilon)));
}

/// momentum * running + (1 - momentum) * now
void update_running(GraphBuilder& b, int input, T now) {
  const float momentum = b.attrs<SampleNormAttrs>().momentum;
  b.update(input,
           b.add(b.mul(b.input(input), momentum), b.mul(now, 1.0f - momentum)));
}

}  // namespace

void lower_sample_norm(GraphBuilder& b) {
  const Folded f(b, 0);
  const bool is_training = b.attrs<SampleNormAttrs>().training;
  const bool is_given = b.has(3) && !is_training;
  const T x = f.data(0);
  const T mean = is_given ? f.of_rows(f.running(3)) : f.of_row(x);
  const T centered = b.sub(x, mean);
  const T variance =
      is_given ? f.of_rows(f.running(4)) : f.of_row(b.square(centered));

  T y = b.mul(centered, inverse_deviation(b, variance));
  if (b.has(1)) y = b.mul(y, f.parameter(1));
  if (b.has(2)) y = b.add(y, f.parameter(2));
  b.set(b.reshape(y, b.result_shape()));
  b.set(b.reshape(mean, b.result_shape(1)), 1);
  b.set(b.reshape(variance, b.result_shape(2)), 2);

  if (!b.has(3) || !is_training) return;
  const double n = f.row_length();
  const double unbiased = n > 1 ? n / (n - 1) : 1;
  update_running(b, 3, f.of_samples(mean));
  update_running(b, 4, b.mul(f.of_samples(variance), unbiased));
}

void lower_sample_norm_gradient(GraphBuilder& b) {
  enum { kGradient, kX, kGamma, kMean, kVariance };
  const Folded f(b, kX);
  const T g = f.data(kGradient);
  const T scale = inverse_deviation(b, f.statistic(kVariance));
  const T normalized = b.mul(b.sub(f.data(kX), f.statistic(kMean)), scale);

  T dx = b.has(kGamma) ? b.mul(g, f.parameter(kGamma)) : g;
  if (b.attrs<SampleNormAttrs>().training) {
    const T product = f.of_row(b.mul(dx, normalized));
    dx = b.sub(b.sub(dx, f.of_row(dx)), b.mul(normalized, product));
  }
  b.set(b.reshape(b.mul(dx, scale), b.result_shape()));
  b.set(b.reshape(f.of_parameter(b.mul(g, normalized)), b.result_shape(1)), 1);
  b.set(b.reshape(f.of_parameter(g), b.result_shape(2)), 2);
}

}  // namespace traingraph::metal
