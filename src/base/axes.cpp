// SPDX-License-Identifier: MIT
#include "base/axes.h"

#include <algorithm>
#include <utility>

#include "traingraph/error.h"

namespace traingraph {

Shape resolve_axes(const Shape& axes, int rank, const char* op,
                   const std::string& node, const char* field) {
  const auto require = [&](bool ok, const char* what, std::string expected) {
    if (ok) return;
    const std::string got =
        axes.rank() == 1 ? std::to_string(axes[0]) : axes.to_string();
    throw InvalidArgument(ErrorInfo{.op = op,
                                    .node = node,
                                    .what = std::string(field) + what,
                                    .expected = std::move(expected),
                                    .got = got,
                                    .hint = {}});
  };
  Shape resolved;
  for (const std::int64_t axis : axes) {
    require(axis >= -rank && axis < rank, " is not an axis",
            std::to_string(-rank) + " to " + std::to_string(rank - 1));
    const std::int64_t from_start = axis < 0 ? axis + rank : axis;
    const bool is_new = std::find(resolved.begin(), resolved.end(),
                                  from_start) == resolved.end();
    require(is_new, " names an axis twice", "distinct axes");
    resolved.push_back(from_start);
  }
  return resolved;
}

std::int64_t resolve_axis(std::int64_t axis, int rank, const char* op,
                          const std::string& node, const char* field) {
  return resolve_axes({axis}, rank, op, node, field)[0];
}

Shape with_last_exchanged(Shape axes) {
  std::swap(axes[axes.rank() - 2], axes[axes.rank() - 1]);
  return axes;
}

bool keeps_order(const Shape& shape, const Shape& axes) {
  std::int64_t last = -1;
  for (std::int64_t axis : axes) {
    if (shape[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace traingraph
