// SPDX-License-Identifier: MIT
// Reference of the gather family.
#include <algorithm>
#include <cmath>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// The shape of what `indices` name along an axis of `from`.
Shape named_shape(const Shape& from, const Shape& indices, int axis) {
  if (indices.rank() == from.rank()) return indices;
  Shape shape = from;
  shape[axis] = indices[0];
  return shape;
}

/// The position in `from` that belongs to `at` of what indices name.
Shape source_of(const RefTensor& indices, Shape at, int axis) {
  const bool by_slice = indices.shape.rank() == 1;
  const double index = by_slice ? indices({at[axis]}) : indices(at);
  at[axis] = static_cast<std::int64_t>(index);
  return at;
}

RefTensor gather(const RefTensor& from, const RefTensor& indices, int axis) {
  RefTensor y = zeros(named_shape(from.shape, indices.shape, axis));
  for_each_position(y.shape, [&](const Shape& at) {
    y(at) = from(source_of(indices, at, axis));
  });
  return y;
}

double norm(const RefTensor& weights, std::int64_t row, double p) {
  const std::int64_t width = weights.shape.back();
  double sum = 0, largest = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double size = std::abs(weights.data[row * width + i]);
    sum += std::pow(size, p);
    largest = std::max(largest, size);
  }
  return std::isinf(p) ? largest : std::pow(sum, 1 / p);
}

}  // namespace

RefTensors reference_gather(const AxisAttrs& attrs, RefTensors& in) {
  return {gather(in[0], in[1], static_cast<int>(attrs.axis))};
}

RefTensors reference_scatter(const ScatterAttrs& attrs, RefTensors& in) {
  const auto axis = static_cast<int>(attrs.axis);
  RefTensor y = in[2];
  for_each_position(in[0].shape, [&](const Shape& at) {
    double& to = y(source_of(in[1], at, axis));
    to =
        attrs.reduction_type == ReductionType::Sum ? to + in[0](at) : in[0](at);
  });
  return {y};
}

/// The gradient of a scatter with reduction none depends on which source is
/// where, not on its data.
RefTensors reference_scatter_gradient(const AxisAttrs& attrs, RefTensors& in) {
  const auto axis = static_cast<int>(attrs.axis);
  RefTensor dsource = zeros(named_shape(in[0].shape, in[1].shape, axis));
  RefTensor winner = filled(in[0].shape, -1);
  double number = 0;
  for_each_position(dsource.shape, [&](const Shape& at) {
    winner(source_of(in[1], at, axis)) = number++;
  });
  number = 0;
  for_each_position(dsource.shape, [&](const Shape& at) {
    const Shape source = source_of(in[1], at, axis);
    if (winner(source) == number++) dsource(at) = in[0](source);
  });
  return {dsource};
}

RefTensors reference_embedding(const EmbeddingAttrs& attrs, RefTensors& in) {
  RefTensor weights = in[0];
  const RefTensor& indices = in[1];
  const std::int64_t width = weights.shape.back();
  Shape shape = indices.shape;
  shape.push_back(width);
  RefTensor y = zeros(shape);
  for (std::size_t k = 0; k < indices.data.size(); ++k) {
    const auto row = static_cast<std::int64_t>(indices.data[k]);
    double scale = 1;
    if (attrs.maximum_norm > 0) {
      const double size = norm(in[0], row, attrs.p_norm);
      if (size > attrs.maximum_norm) scale = attrs.maximum_norm / size;
    }
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t from = row * width + i;
      weights.data[from] = in[0].data[from] * scale;
      y.data[k * width + i] = weights.data[from];
    }
  }
  if (attrs.training) in[0] = weights;
  return {y};
}

RefTensors reference_embedding_gradient(const EmbeddingGradientAttrs& attrs,
                                        RefTensors& in) {
  const RefTensor& indices = in[1];
  const std::int64_t width = attrs.shape.back();
  RefTensor dweights = zeros(attrs.shape);
  for (std::size_t k = 0; k < indices.data.size(); ++k) {
    if (indices.data[k] == static_cast<double>(attrs.padding_index)) continue;
    const auto times =
        static_cast<double>(std::ranges::count(indices.data, indices.data[k]));
    const double divisor = attrs.scales_gradient_by_frequency ? times : 1;
    const auto row = static_cast<std::int64_t>(indices.data[k]);
    for (std::int64_t i = 0; i < width; ++i) {
      dweights.data[row * width + i] += in[0].data[k * width + i] / divisor;
    }
  }
  return {dweights};
}

}  // namespace traingraph::testing
