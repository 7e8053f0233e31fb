// SPDX-License-Identifier: MIT
// Batch normalisation and its gradient, composed: tensors are folded to
// (N, C, rest), statistics are (1, C, 1).
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

Shape fold(const Shape& shape) {
  return {shape[0], shape[1], shape.num_elements() / (shape[0] * shape[1])};
}

/// An input (C) as it broadcasts against the folded tensors.
T channels(GraphBuilder& b, int input) {
  return b.reshape(b.input(input), {1, b.input_shape(input)[0], 1});
}

/// 1 / sqrt(variance + epsilon)
T inverse_deviation(GraphBuilder& b, T variance) {
  return b.div(1, b.sqrt(b.add(variance, b.attrs<BatchNormAttrs>().epsilon)));
}

T times_gamma(GraphBuilder& b, T x, int gamma) {
  return b.has(gamma) ? b.mul(x, channels(b, gamma)) : x;
}

/// momentum * running + (1 - momentum) * batch
void update_running(GraphBuilder& b, int input, T batch) {
  const float momentum = b.attrs<BatchNormAttrs>().momentum;
  b.update(input, b.add(b.mul(b.input(input), momentum),
                        b.mul(batch, 1.0f - momentum)));
}

T identity(GraphBuilder& b, T x) {
  return [b.graph() identityWithTensor:x name:b.name()];
}

}  // namespace

void lower_batch_norm(GraphBuilder& b) {
  const Shape shape = fold(b.input_shape(0)), per_channel{shape[1]};
  const T x = b.reshape(b.input(0), shape);
  const bool is_training = b.attrs<BatchNormAttrs>().training;

  const T mean = is_training ? b.mean(x, shape, {0, 2}) : channels(b, 3);
  const T centered = b.sub(x, mean);
  const T variance =
      is_training ? b.mean(b.square(centered), shape, {0, 2}) : channels(b, 4);
  T y = b.mul(centered, times_gamma(b, inverse_deviation(b, variance), 1));
  if (b.has(2)) y = b.add(y, channels(b, 2));
  b.set(b.reshape(y, b.result_shape()));

  if (!is_training) {
    b.set(identity(b, b.input(3)), 1);
    b.set(identity(b, b.input(4)), 2);
    return;
  }
  const T batch_mean = b.reshape(mean, per_channel);
  const T batch_variance = b.reshape(variance, per_channel);
  b.set(batch_mean, 1);
  b.set(batch_variance, 2);
  const double count = static_cast<double>(shape[0] * shape[2]);
  const double unbiased = count > 1 ? count / (count - 1) : 1;
  update_running(b, 3, batch_mean);
  update_running(b, 4, b.mul(batch_variance, unbiased));
}

void lower_batch_norm_gradient(GraphBuilder& b) {
  enum { kGradient, kX, kGamma, kMean, kVariance };
  const Shape shape = fold(b.input_shape(kX)), per_channel{shape[1]};
  const double count = static_cast<double>(shape[0] * shape[2]);
  const T g = b.reshape(b.input(kGradient), shape);
  const T x = b.reshape(b.input(kX), shape);
  const T scale = inverse_deviation(b, channels(b, kVariance));
  const T normalized = b.mul(b.sub(x, channels(b, kMean)), scale);

  const T dbeta = b.sum(g, shape, {0, 2});
  const T dgamma = b.sum(b.mul(g, normalized), shape, {0, 2});
  T dx = g;
  if (b.attrs<BatchNormAttrs>().training) {
    dx = b.sub(b.sub(g, b.div(dbeta, count)),
               b.mul(normalized, b.div(dgamma, count)));
  }
  dx = b.mul(dx, times_gamma(b, scale, kGamma));
  b.set(b.reshape(dx, b.result_shape()));
  b.set(b.reshape(dgamma, per_channel), 1);
  b.set(b.reshape(dbeta, per_channel), 2);
}

}  // namespace traingraph::metal
