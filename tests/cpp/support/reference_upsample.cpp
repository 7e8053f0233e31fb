// SPDX-License-Identifier: MIT
// Reference of the upsample family, by positions as real numbers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// Samples of an axis with their shares of result sample `i`.
std::vector<std::pair<std::int64_t, double>> shares(const UpsampleAttrs& attrs,
                                                    std::int64_t i,
                                                    std::int64_t in,
                                                    std::int64_t out) {
  const auto n = static_cast<double>(in), m = static_cast<double>(out);
  if (attrs.sample_mode == SampleMode::Nearest) {
    return {{static_cast<std::int64_t>((2.0 * i + 1) * n / (2 * m)), 1}};
  }
  double at = (i + 0.5) * n / m - 0.5;
  if (attrs.aligns_corners) at = out == 1 ? 0 : i * (n - 1) / (m - 1);
  at = std::clamp(at, 0.0, n - 1);
  const double below = std::floor(at);
  const auto first = static_cast<std::int64_t>(below);
  return {{first, 1 - (at - below)}, {std::min(first + 1, in - 1), at - below}};
}

/// Calls use(position in the small tensor, position in the sampled one, share)
/// for both axes.
template <class Use>
void for_each_share(const UpsampleAttrs& attrs, const Shape& small,
                    const Shape& sampled, Use use) {
  const int last = sampled.rank() - 1;
  const bool has_rows = attrs.shape.rank() == 2;
  for_each_position(sampled, [&](const Shape& at) {
    for (const auto& [column, share] :
         shares(attrs, at[last], small[last], sampled[last])) {
      Shape from = at;
      from[last] = column;
      if (!has_rows) {
        use(from, at, share);
        continue;
      }
      for (const auto& [row, of_row] :
           shares(attrs, at[last - 1], small[last - 1], sampled[last - 1])) {
        from[last - 1] = row;
        use(from, at, share * of_row);
      }
    }
  });
}

Shape with_extents(Shape shape, const Shape& extents) {
  const int first = shape.rank() - extents.rank();
  for (int i = 0; i < extents.rank(); ++i) shape[first + i] = extents[i];
  return shape;
}

}  // namespace

RefTensors reference_upsample(const UpsampleAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  RefTensor y = zeros(with_extents(x.shape, attrs.shape));
  for_each_share(attrs, x.shape, y.shape,
                 [&](const Shape& from, const Shape& to, double share) {
                   y(to) += share * x(from);
                 });
  return {y};
}

RefTensors reference_upsample_gradient(const UpsampleAttrs& attrs,
                                       RefTensors& in) {
  const RefTensor& gradient = in[0];
  RefTensor dx = zeros(with_extents(gradient.shape, attrs.shape));
  for_each_share(attrs, dx.shape, gradient.shape,
                 [&](const Shape& to, const Shape& from, double share) {
                   dx(to) += share * gradient(from);
                 });
  return {dx};
}

}  // namespace traingraph::testing
