// SPDX-License-Identifier: MIT
// Batch normalisation and its gradient, composed: tensors are folded to
// (N, C, rest), statistics are (1, C, 1).
#include "graph/moments.h"
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

/// One row of channels of an input, (1, C, 1).
T row_of(GraphBuilder& b, int input, int row) {
  return b.reshape(b.entry(input, row), {1, b.input_shape(input)[1], 1});
}

struct Moments {
  T count, mean, rest, variance;
};

Moments read_moments(GraphBuilder& b, int input) {
  return {.count = row_of(b, input, kCountRow),
          .mean = row_of(b, input, kMeanRow),
          .rest = row_of(b, input, kRestRow),
          .variance = row_of(b, input, kVarianceRow)};
}

T subtract_mean(GraphBuilder& b, T x, const Moments& moments) {
  return b.sub(b.sub(x, moments.mean), moments.rest);
}

T concatenate_rows(GraphBuilder& b, std::initializer_list<T> rows,
                   std::int64_t channels) {
  NSMutableArray* all = [NSMutableArray array];
  for (const T row : rows) [all addObject:b.reshape(row, {1, channels})];
  return [b.graph() concatTensors:all dimension:0 name:b.name()];
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

void lower_batch_norm_moments(GraphBuilder& b) {
  const Shape shape = fold(b.input_shape(0));
  const T x = b.reshape(b.input(0), shape);
  const T mean = b.mean(x, shape, {0, 2});
  const T centered = b.sub(x, mean);
  const T rest = b.mean(centered, shape, {0, 2});
  const T variance = b.mean(b.square(b.sub(centered, rest)), shape, {0, 2});
  const T count =
      b.broadcast(b.scalar_like(mean, static_cast<double>(shape[0] * shape[2])),
                  {1, shape[1], 1});
  b.set(concatenate_rows(b, {count, mean, rest, variance}, shape[1]));
}

void lower_batch_norm_apply(GraphBuilder& b) {
  const Shape shape = fold(b.input_shape(0)), per_channel{shape[1]};
  const Moments moments = read_moments(b, 5);
  const T x = b.reshape(b.input(0), shape);
  T y = b.mul(subtract_mean(b, x, moments),
              times_gamma(b, inverse_deviation(b, moments.variance), 1));
  if (b.has(2)) y = b.add(y, channels(b, 2));
  b.set(b.reshape(y, b.result_shape()));
  const T mean = b.reshape(b.add(moments.mean, moments.rest), per_channel);
  const T variance = b.reshape(moments.variance, per_channel);
  b.set(mean, 1);
  b.set(variance, 2);
  if (!b.attrs<BatchNormAttrs>().training) return;
  const T count = b.reshape(moments.count, per_channel);
  const T others = b.max(b.add(count, -1), 1);
  const T unbiased = b.select(b.greater(count, 1), b.div(count, others), 1);
  update_running(b, 3, mean);
  update_running(b, 4, b.mul(variance, unbiased));
}

void lower_batch_norm_gradient_sums(GraphBuilder& b) {
  const Shape shape = fold(b.input_shape(1)), per_channel{shape[1]};
  const Moments moments = read_moments(b, 2);
  const T g = b.reshape(b.input(0), shape);
  const T centered = subtract_mean(b, b.reshape(b.input(1), shape), moments);
  const T sum = b.sum(g, shape, {0, 2});
  const T product = b.sum(b.mul(g, centered), shape, {0, 2});
  b.set(concatenate_rows(b, {sum, product}, shape[1]));
  const T dgamma = b.mul(product, inverse_deviation(b, moments.variance));
  b.set(b.reshape(dgamma, per_channel), 1);
  b.set(b.reshape(sum, per_channel), 2);
}

void lower_batch_norm_gradient_apply(GraphBuilder& b) {
  enum { kGradient, kX, kGamma, kMoments, kSums };
  const Shape shape = fold(b.input_shape(kX));
  const Moments moments = read_moments(b, kMoments);
  const auto mean_of = [&](int row) {
    return b.div(row_of(b, kSums, row), moments.count);
  };
  const T scale = inverse_deviation(b, moments.variance);
  const T centered = subtract_mean(b, b.reshape(b.input(kX), shape), moments);
  const T slope = b.mul(mean_of(1), b.square(scale));
  const T g = b.reshape(b.input(kGradient), shape);
  const T dx = b.sub(b.sub(g, mean_of(0)), b.mul(centered, slope));
  b.set(b.reshape(b.mul(dx, times_gamma(b, scale, kGamma)), b.result_shape()));
}

}  // namespace traingraph::metal
