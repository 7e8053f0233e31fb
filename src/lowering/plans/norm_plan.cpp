// SPDX-License-Identifier: MIT
#include "lowering/plans/norm_plan.h"

#include "base/divide_up.h"

namespace traingraph {
namespace {

constexpr std::int64_t kEnoughTasks = 64;
constexpr std::int64_t kElementsPerTask = 16384;

/// Are axes `order` dense, the last one innermost with stride `innermost`?
bool is_dense(const Layout::Sizes& sizes, const Layout::Sizes& strides,
              std::span<const std::size_t> order, std::int64_t innermost) {
  std::int64_t expected = innermost;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    if (sizes[axis] != 1 && strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

}  // namespace

std::optional<ChannelView> ChannelView::of(const Layout& layout) {
  const int rank = layout.rank();
  if (layout.is_opaque() || rank < 2) return {};
  Layout::Sizes sizes = layout.padded_sizes();
  const Layout::Sizes& strides = layout.strides();
  const auto& blocks = layout.blocks();
  const std::int64_t channels = layout.sizes()[1];
  std::int64_t inner = 1;
  std::vector<std::size_t> order(static_cast<std::size_t>(rank));
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    if (axis >= 2) inner *= sizes[axis];
    order[axis] = axis;
  }
  if (blocks.empty() && sizes == layout.sizes()) {
    if (inner > 1 && is_dense(sizes, strides, order, 1)) {
      return ChannelView{sizes[0], channels, inner, 1, channels};
    }
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    if (!is_dense(sizes, strides, order, 1)) return {};
    return ChannelView{1, 1, sizes[0] * inner, channels, channels};
  }
  if (blocks.size() != 1 || blocks[0].axis != 1 || blocks[0].size > 16) {
    return {};
  }
  const std::int64_t width = blocks[0].size;
  sizes[1] /= width;
  if (!is_dense(sizes, strides, order, width)) return {};
  return ChannelView{sizes[0], sizes[1], inner, width, channels};
}

NormPlan::NormPlan(const ChannelView& v)
    : view(v),
      num_samples(v.outer * v.inner),
      samples_per_row(v.width > kLanes / 2 ? 1 : kLanes / v.width) {
  const std::int64_t per_task = divide_up(kElementsPerTask, v.width);
  const std::int64_t wanted = std::min(divide_up(kEnoughTasks, v.groups),
                                       divide_up(num_samples, per_task));
  // Whole blocks, so that only the last chunk has an incomplete row.
  const std::int64_t step = kRows * samples_per_row;
  samples_per_chunk = divide_up(divide_up(num_samples, wanted), step) * step;
  num_chunks = divide_up(num_samples, samples_per_chunk);
  const std::int64_t elements =
      std::min(samples_per_chunk, num_samples) * v.width;
  task_grain = std::max<std::int64_t>(1, kElementsPerTask / elements);
}

}  // namespace traingraph
