// SPDX-License-Identifier: MIT
// Reference of the normalizations of single samples.
#include <cmath>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// The statistic that an element of x belongs to: one value per group on
/// `axis`, size 1 behind.
struct Rows {
  const SampleNormAttrs& attrs;
  Shape x;

  Shape statistics() const {
    Shape shape = x;
    for (int i = axis(); i < x.rank(); ++i) shape[i] = 1;
    if (attrs.groups > 0) shape[axis()] = attrs.groups;
    return shape;
  }
  Shape statistic_of(Shape at) const {
    const std::int64_t on_axis = at[axis()];
    for (int i = axis(); i < x.rank(); ++i) at[i] = 0;
    if (attrs.groups > 0) at[axis()] = on_axis / (x[axis()] / attrs.groups);
    return at;
  }
  Shape parameters() const { return parameter_of(x); }
  Shape parameter_of(const Shape& at) const {
    if (attrs.groups > 0) return {at[axis()]};
    Shape position;
    for (int i = axis(); i < x.rank(); ++i) position.push_back(at[i]);
    return position;
  }
  int axis() const { return static_cast<int>(attrs.axis); }
};

}  // namespace

RefTensors reference_sample_norm(const SampleNormAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  const RefTensor& gamma = in[1];
  const RefTensor& beta = in[2];
  RefTensor& running_mean = in[3];
  RefTensor& running_variance = in[4];
  const Rows rows{attrs, x.shape};
  RefTensor mean = zeros(rows.statistics()), variance = mean;
  const auto num_rows = static_cast<double>(mean.data.size());
  const double count = static_cast<double>(x.data.size()) / num_rows;
  const bool is_given = running_mean.is_present() && !attrs.training;
  if (is_given) {
    for_each_position(mean.shape, [&](const Shape& at) {
      mean(at) = running_mean({at[rows.axis()]});
      variance(at) = running_variance({at[rows.axis()]});
    });
  } else {
    for_each_position(x.shape, [&](const Shape& at) {
      mean(rows.statistic_of(at)) += x(at) / count;
    });
    for_each_position(x.shape, [&](const Shape& at) {
      const double centered = x(at) - mean(rows.statistic_of(at));
      variance(rows.statistic_of(at)) += centered * centered / count;
    });
  }
  if (running_mean.is_present() && attrs.training) {
    const double samples = num_rows / static_cast<double>(attrs.groups);
    const double unbiased = count > 1 ? count / (count - 1) : 1;
    const double share = (1 - static_cast<double>(attrs.momentum)) / samples;
    for (double& value : running_mean.data) value *= attrs.momentum;
    for (double& value : running_variance.data) value *= attrs.momentum;
    for_each_position(mean.shape, [&](const Shape& at) {
      const Shape group{at[rows.axis()]};
      running_mean(group) += share * mean(at);
      running_variance(group) += share * unbiased * variance(at);
    });
  }
  RefTensor y = zeros(x.shape);
  for_each_position(x.shape, [&](const Shape& at) {
    const Shape row = rows.statistic_of(at), own = rows.parameter_of(at);
    y(at) = (x(at) - mean(row)) / std::sqrt(variance(row) + attrs.epsilon) *
                (gamma.is_present() ? gamma(own) : 1) +
            (beta.is_present() ? beta(own) : 0);
  });
  return {y, mean, variance};
}

RefTensors reference_sample_norm_gradient(const SampleNormAttrs& attrs,
                                          RefTensors& in) {
  const RefTensor& gradient = in[0];
  const RefTensor& x = in[1];
  const RefTensor& gamma = in[2];
  const Rows rows{attrs, x.shape};
  RefTensors forward{x,
                     gamma.is_present() ? gamma : filled(rows.parameters(), 1),
                     zeros(rows.parameters()),
                     {},
                     {}};
  RefTensors gradients;
  if (attrs.training) {
    for (int input = 0; input < 3; ++input) {
      gradients.push_back(numerical_gradient(OpKind::SampleNorm, attrs, forward,
                                             input, gradient));
    }
    return gradients;
  }
  // The statistics are constants that may differ from row to row.
  gradients = {zeros(x.shape), zeros(rows.parameters()),
               zeros(rows.parameters())};
  for_each_position(x.shape, [&](const Shape& at) {
    const Shape row = rows.statistic_of(at), own = rows.parameter_of(at);
    const double inverse = 1 / std::sqrt(in[4](row) + attrs.epsilon);
    gradients[0](at) = gradient(at) * forward[1](own) * inverse;
    gradients[1](own) += gradient(at) * (x(at) - in[3](row)) * inverse;
    gradients[2](own) += gradient(at);
  });
  return gradients;
}

}  // namespace traingraph::testing
