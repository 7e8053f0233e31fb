// SPDX-License-Identifier: MIT
#include "nodes/windows.h"

#include <algorithm>
#include <utility>

#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

bool remainder_is_before(PaddingRemainder remainder, ImageAxis axis) {
  const bool is_top = remainder == PaddingRemainder::TopLeft ||
                      remainder == PaddingRemainder::TopRight;
  const bool is_left = remainder == PaddingRemainder::TopLeft ||
                       remainder == PaddingRemainder::BottomLeft;
  return axis == ImageAxis::Height ? is_top : is_left;
}

std::int64_t before(const PaddingPolicy& policy, std::int64_t total,
                    ImageAxis axis) {
  if (policy.alignment == PaddingAlignment::TopLeft) return 0;
  if (policy.alignment == PaddingAlignment::BottomRight) return total;
  const std::int64_t half = total / 2;
  const std::int64_t odd = total - 2 * half;
  return remainder_is_before(policy.remainder, axis) ? half + odd : half;
}

/// The sign is -1, 0, 1 for ValidOnly, Same, Full.
std::int64_t sign_of(PaddingExtent extent) {
  return static_cast<std::int64_t>(extent) - 1;
}

}  // namespace

Placement place_windows(const PaddingPolicy& policy, std::int64_t n,
                        const AxisWindow& window, ImageAxis axis) {
  const std::int64_t span = window_span(window);
  const std::int64_t positions =
      n + sign_of(policy.extent) * (span - 1) + window.stride - 1;
  Placement result{.count = positions < 0 ? 0 : positions / window.stride};
  const std::int64_t total = (result.count - 1) * window.stride + span - n;
  result.before = before(policy, total, axis);
  result.after = total - result.before;
  return result;
}

Placement place_spread(const PaddingPolicy& policy, std::int64_t n,
                       const AxisWindow& window, ImageAxis axis) {
  const std::int64_t span = window_span(window);
  const std::int64_t lost = (1 - sign_of(policy.extent)) * (span - 1);
  Placement result{.count = (n - 1) * window.stride + span - lost};
  result.before = before(policy, lost, axis);
  result.after = lost - result.before;
  return result;
}

PaddedSource pad_source(FilterBuilder& builder, const PaddingPolicy& policy,
                        const ImageWindow& window) {
  PaddedSource result{.image = builder.source()};
  const Shape shape = builder.shape(result.image);
  SliceAttrs slice{.start = Shape::filled(4, 0), .end = shape, .stride = {}};
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t n = shape[2 + axis];
    const auto image_axis = axis == 0 ? ImageAxis::Height : ImageAxis::Width;
    const Placement placed =
        place_windows(policy, n, window.axis(axis), image_axis);
    if (placed.count < 1) {
      throw ShapeError(
          {.op = {},
           .node = builder.name(),
           .what = "the kernel does not fit the source",
           .expected = "at least " +
                       std::to_string(window_span(window.axis(axis))) +
                       (axis == 0 ? " rows" : " columns"),
           .got = std::to_string(n),
           .hint = "Use a smaller kernel or another padding."});
    }
    slice.start[2 + axis] = std::max<std::int64_t>(-placed.before, 0);
    result.padding[2 * axis] = std::max<std::int64_t>(placed.before, 0);
    result.padding[2 * axis + 1] = std::max<std::int64_t>(placed.after, 0);
  }
  if (slice.start != Shape::filled(4, 0)) {
    result.image = builder.append(OpKind::Slice, slice, {result.image});
  }
  return result;
}

}  // namespace traingraph::nodes
