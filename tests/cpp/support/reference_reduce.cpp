// SPDX-License-Identifier: MIT
// Reference of the reduce family.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

double sum_of(const std::vector<double>& group) {
  return std::accumulate(group.begin(), group.end(), 0.0);
}

/// All elements that become one, in row-major order.
double reduce_group(ReductionType type, const std::vector<double>& group) {
  const auto is_true = [](double x) { return x != 0; };
  const auto largest = std::ranges::max_element(group);
  const auto smallest = std::ranges::min_element(group);
  switch (type) {
    case ReductionType::None:
      return group.front();
    case ReductionType::Sum:
      return sum_of(group);
    case ReductionType::Mean:
      return sum_of(group) / static_cast<double>(group.size());
    case ReductionType::Max:
    case ReductionType::Min: {
      const auto nan =
          std::ranges::find_if(group, [](double x) { return std::isnan(x); });
      if (nan != group.end()) return *nan;
      return type == ReductionType::Max ? *largest : *smallest;
    }
    case ReductionType::ArgMax:
      return static_cast<double>(largest - group.begin());
    case ReductionType::ArgMin:
      return static_cast<double>(smallest - group.begin());
    case ReductionType::L1Norm:
      return std::accumulate(
          group.begin(), group.end(), 0.0,
          [](double sum, double x) { return sum + std::abs(x); });
    case ReductionType::Any:
      return std::ranges::any_of(group, is_true);
    case ReductionType::All:
      return std::ranges::all_of(group, is_true);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

RefTensors reference_reduce(const ReduceAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  if (attrs.type == ReductionType::None) return {x};
  Shape shape = attrs.axes.empty() ? Shape::filled(x.shape.rank(), 1) : x.shape;
  for (std::int64_t axis : attrs.axes) shape[static_cast<int>(axis)] = 1;
  RefTensor y = zeros(shape), number = y;
  std::iota(number.data.begin(), number.data.end(), 0.0);
  std::vector<std::vector<double>> groups(y.data.size());
  for_each_position(x.shape, [&](const Shape& at) {
    const double group = number(source_of(shape, at));
    groups[static_cast<std::size_t>(group)].push_back(x(at));
  });
  std::ranges::transform(groups, y.data.begin(), [&](const auto& group) {
    return reduce_group(attrs.type, group);
  });
  return {y};
}

RefTensors reference_broadcast_to(const ShapeAttrs& attrs, RefTensors& in) {
  return {expand(in[0], attrs.shape)};
}

RefTensors reference_cumulative_sum(const CumulativeSumAttrs& attrs,
                                    RefTensors& in) {
  const auto axis = static_cast<int>(attrs.axis);
  RefTensor y = zeros(in[0].shape);
  for_each_position(y.shape, [&](const Shape& at) {
    Shape from = at;
    for (std::int64_t k = 0; k < y.shape[axis]; ++k) {
      const std::int64_t behind = attrs.reverse ? k - at[axis] : at[axis] - k;
      from[axis] = k;
      if (behind > 0 || (behind == 0 && !attrs.is_exclusive)) {
        y(at) += in[0](from);
      }
    }
  });
  return {y};
}

RefTensors reference_squared_norm(const NoAttrs&, RefTensors& in) {
  double sum = 0;
  for (double x : in[0].data) sum += x * x;
  return {filled({1}, sum)};
}

}  // namespace traingraph::testing
