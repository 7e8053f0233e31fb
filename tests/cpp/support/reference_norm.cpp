// SPDX-License-Identifier: MIT
// Reference of the norm family.
#include <cmath>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// Mean and biased variance of every channel.
struct Statistics {
  RefTensor mean, variance;
  double count = 0;  // elements per channel
};

Statistics statistics_of(const RefTensor& x) {
  const Shape channels{x.shape[1]};
  Statistics statistics{zeros(channels), zeros(channels)};
  const std::int64_t count = x.shape.num_elements() / x.shape[1];
  statistics.count = static_cast<double>(count);
  for_each_position(x.shape, [&](const Shape& at) {
    statistics.mean({at[1]}) += x(at) / statistics.count;
  });
  for_each_position(x.shape, [&](const Shape& at) {
    const double centered = x(at) - statistics.mean({at[1]});
    statistics.variance({at[1]}) += centered * centered / statistics.count;
  });
  return statistics;
}

/// The rows of moments, or sums, of channels.
double& row_of(RefTensor& rows, int row, std::int64_t channel) {
  return rows({row, channel});
}

Statistics statistics_in(RefTensor& moments) {
  const std::int64_t channels = moments.shape[1];
  Statistics statistics{zeros({channels}), zeros({channels})};
  for (std::int64_t c = 0; c < channels; ++c) {
    statistics.count = row_of(moments, 0, c);
    statistics.mean({c}) = row_of(moments, 1, c) + row_of(moments, 2, c);
    statistics.variance({c}) = row_of(moments, 3, c);
  }
  return statistics;
}

/// momentum * running + (1 - momentum) * batch * scale
void blend(RefTensor& running, const RefTensor& batch, double momentum,
           double scale) {
  for (std::size_t c = 0; c < running.data.size(); ++c) {
    running.data[c] =
        momentum * running.data[c] + (1 - momentum) * batch.data[c] * scale;
  }
}

/// The running variance estimates the population's: n / (n - 1).
void move_running(const BatchNormAttrs& attrs, const Statistics& batch,
                  RefTensors& in) {
  const double unbiased =
      batch.count > 1 ? batch.count / (batch.count - 1) : 1.0;
  blend(in[3], batch.mean, attrs.momentum, 1);
  blend(in[4], batch.variance, attrs.momentum, unbiased);
}

RefTensors normalize(const BatchNormAttrs& attrs, const Statistics& used,
                     const RefTensors& in) {
  const RefTensor &x = in[0], &gamma = in[1], &beta = in[2];
  RefTensor y = zeros(x.shape);
  for_each_position(x.shape, [&](const Shape& at) {
    const Shape c{at[1]};
    const double normalized =
        (x(at) - used.mean(c)) / std::sqrt(used.variance(c) + attrs.epsilon);
    y(at) = normalized * (gamma.is_present() ? gamma(c) : 1) +
            (beta.is_present() ? beta(c) : 0);
  });
  return {y, used.mean, used.variance};
}

}  // namespace

RefTensors reference_batch_norm(const BatchNormAttrs& attrs, RefTensors& in) {
  if (!attrs.training) return normalize(attrs, {in[3], in[4]}, in);
  const Statistics batch = statistics_of(in[0]);
  move_running(attrs, batch, in);
  return normalize(attrs, batch, in);
}

RefTensors reference_batch_norm_moments(const NoAttrs&, RefTensors& in) {
  const Statistics batch = statistics_of(in[0]);
  const std::int64_t channels = in[0].shape[1];
  RefTensor moments = zeros({4, channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    row_of(moments, 0, c) = batch.count;
    row_of(moments, 1, c) = batch.mean({c});
    row_of(moments, 3, c) = batch.variance({c});
  }
  return {moments};
}

RefTensors reference_batch_norm_apply(const BatchNormAttrs& attrs,
                                      RefTensors& in) {
  const Statistics given = statistics_in(in[5]);
  if (attrs.training) move_running(attrs, given, in);
  return normalize(attrs, given, in);
}

RefTensors reference_batch_norm_gradient_sums(const BatchNormAttrs& attrs,
                                              RefTensors& in) {
  const RefTensor &gradient = in[0], &x = in[1];
  const Statistics given = statistics_in(in[2]);
  const std::int64_t channels = x.shape[1];
  RefTensor sums = zeros({2, channels}), dgamma = zeros({channels}),
            dbeta = dgamma;
  for_each_position(x.shape, [&](const Shape& at) {
    const Shape c{at[1]};
    const double product = gradient(at) * (x(at) - given.mean(c));
    row_of(sums, 0, at[1]) += gradient(at);
    row_of(sums, 1, at[1]) += product;
    dbeta(c) += gradient(at);
    dgamma(c) += product / std::sqrt(given.variance(c) + attrs.epsilon);
  });
  return {sums, dgamma, dbeta};
}

/// y = (x - mean) / deviation * gamma, whose mean and deviation are those of n
/// samples with these sums of g and g (x - mean).
RefTensors reference_batch_norm_gradient_apply(const BatchNormAttrs& attrs,
                                               RefTensors& in) {
  const RefTensor &gradient = in[0], &x = in[1], &gamma = in[2];
  const Statistics given = statistics_in(in[3]);
  RefTensor dx = zeros(x.shape);
  for_each_position(x.shape, [&](const Shape& at) {
    const Shape c{at[1]};
    const double variance = given.variance(c) + attrs.epsilon;
    const double through_mean = row_of(in[4], 0, at[1]) / given.count;
    const double through_variance = (x(at) - given.mean(c)) / variance *
                                    row_of(in[4], 1, at[1]) / given.count;
    dx(at) = (gradient(at) - through_mean - through_variance) /
             std::sqrt(variance) * (gamma.is_present() ? gamma(c) : 1);
  });
  return {dx};
}

RefTensors reference_batch_norm_gradient(const BatchNormAttrs& attrs,
                                         RefTensors& in) {
  const RefTensor& gradient = in[0];
  const RefTensor& x = in[1];
  const RefTensor& gamma = in[2];
  const Shape channels{x.shape[1]};
  // Training recomputes the statistics from x, so that they move with it; else
  // they are the constants that are handed in.
  const RefTensors forward{x, gamma.is_present() ? gamma : filled(channels, 1),
                           zeros(channels), in[3], in[4]};
  RefTensors gradients;
  for (int input = 0; input < 3; ++input) {
    gradients.push_back(
        numerical_gradient(OpKind::BatchNorm, attrs, forward, input, gradient));
  }
  return gradients;
}

RefTensors reference_softmax(const SoftmaxAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  const int axis = static_cast<int>(attrs.axis);
  Shape rows = x.shape;
  rows[axis] = 1;
  RefTensor y = zeros(x.shape);
  for_each_position(rows, [&](Shape at) {
    double largest = x(at);
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) {
      largest = std::fmax(largest, x(at));
    }
    double sum = 0;
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) {
      sum += std::exp(x(at) - largest);
    }
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) {
      const double log_softmax = x(at) - largest - std::log(sum);
      y(at) = attrs.operation == SoftmaxOperation::LogSoftmax
                  ? log_softmax
                  : std::exp(log_softmax);
    }
  });
  return {y};
}

RefTensors reference_softmax_gradient(const SoftmaxAttrs& attrs,
                                      RefTensors& in) {
  // The gradient follows its definition: results that are stored in 16 bits are
  // the softmax of no x, so there is nothing to take differences of.
  const RefTensor &gradient = in[0], &y = in[1];
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int axis = static_cast<int>(attrs.axis);
  Shape rows = y.shape;
  rows[axis] = 1;
  RefTensor dx = zeros(y.shape);
  for_each_position(rows, [&](Shape at) {
    double sum = 0;
    for (at[axis] = 0; at[axis] < y.shape[axis]; ++at[axis]) {
      sum += gradient(at) * (is_log ? 1 : y(at));
    }
    for (at[axis] = 0; at[axis] < y.shape[axis]; ++at[axis]) {
      dx(at) = is_log ? gradient(at) - std::exp(y(at)) * sum
                      : y(at) * (gradient(at) - sum);
    }
  });
  return {dx};
}

}  // namespace traingraph::testing
