// SPDX-License-Identifier: MIT
#include "metal/fold.h"

#include <algorithm>
#include <span>

namespace traingraph::metal {
namespace {

/// Neighbouring axes that are all reduced or all kept.
struct Group {
  std::int64_t size;
  bool is_reduced;
};

std::vector<Group> group_axes(const Shape& shape, const Shape& axes) {
  std::vector<Group> groups;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_reduced = std::ranges::find(axes, axis) != axes.end();
    if (!groups.empty() && groups.back().is_reduced == is_reduced) {
      groups.back().size *= shape[axis];
    } else {
      groups.push_back({shape[axis], is_reduced});
    }
  }
  return groups;
}

std::int64_t product(std::span<const Group> groups) {
  std::int64_t size = 1;
  for (const Group& group : groups) size *= group.size;
  return size;
}

}  // namespace

std::vector<FoldedReduction> fold_reduction(const Shape& shape,
                                            const Shape& axes, int max_rank) {
  if (shape.rank() <= max_rank) return {{shape, axes}};
  std::vector<Group> groups = group_axes(shape, axes);
  if (groups.size() <= static_cast<std::size_t>(max_rank)) {
    FoldedReduction folded;
    for (const Group& group : groups) {
      if (group.is_reduced) folded.axes.push_back(folded.shape.rank());
      folded.shape.push_back(group.size);
    }
    return {folded};
  }
  std::vector<FoldedReduction> steps;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].is_reduced) continue;
    const std::span all(groups);
    steps.push_back(
        {{product(all.first(i)), groups[i].size, product(all.subspan(i + 1))},
         {1}});
    groups[i].size = 1;
  }
  return steps;
}

Shape around_axis(const Shape& shape, int axis) {
  Shape folded{1, shape[axis], 1};
  for (int i = 0; i < axis; ++i) folded[0] *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) folded[2] *= shape[i];
  return folded;
}

}  // namespace traingraph::metal
