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

/// momentum * running + (1 - momentum) * batch * scale
void blend(RefTensor& running, const RefTensor& batch, double momentum,
           double scale) {
  for (std::size_t c = 0; c < running.data.size(); ++c) {
    running.data[c] =
        momentum * running.data[c] + (1 - momentum) * batch.data[c] * scale;
  }
}

}  // namespace

RefTensors reference_batch_norm(const BatchNormAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  const RefTensor& gamma = in[1];
  const RefTensor& beta = in[2];
  RefTensor& running_mean = in[3];
  RefTensor& running_variance = in[4];
  Statistics used{running_mean, running_variance};
  if (attrs.training) {
    used = statistics_of(x);
    // The running variance estimates the population's: n / (n - 1).
    const double unbiased =
        used.count > 1 ? used.count / (used.count - 1) : 1.0;
    blend(running_mean, used.mean, attrs.momentum, 1);
    blend(running_variance, used.variance, attrs.momentum, unbiased);
  }
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
