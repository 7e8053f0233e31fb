// SPDX-License-Identifier: MIT
// Tensors that are cut into parts along an axis, or made of them, in the layout
// that they have.
#pragma once

#include <algorithm>
#include <vector>

#include "base/divide_up.h"
#include "lowering/layout.h"

namespace traingraph::cpu {

/// Channels of a block; 1 where there are no blocks.
inline std::int64_t block_of(const Layout& layout) {
  return layout.blocks().empty() ? 1 : layout.blocks()[0].size;
}

/// `values` of the axes of a tensor, in the order in which a layout that
/// convolutions choose, or a plain one, has them in memory: blocks count as
/// one, and `in_block` is behind them.
inline Shape in_memory_order(const Layout& layout, Shape values,
                             std::int64_t in_block) {
  const int last = values.rank() - 1;
  if (!layout.blocks().empty()) {
    values[1] = divide_up(values[1], block_of(layout));
    values.push_back(in_block);
  } else if (!is_plain(layout)) {  // channels last
    const std::int64_t channels = values[1];
    for (int i = 1; i < last; ++i) values[i] = values[i + 1];
    values[last] = channels;
  }
  return values;
}

/// The sizes of a whole of layout `whole`, or of a part of it, in that order.
/// The part's own layout would not do: where it has one channel, plain and
/// channels last are the same.
inline Shape memory_sizes(const Layout& whole, const Layout& part) {
  Shape sizes;
  for (const std::int64_t size : part.padded_sizes()) sizes.push_back(size);
  return in_memory_order(whole, sizes, block_of(whole));
}

/// Where an axis is in that order.
inline int memory_axis(const Layout& layout, std::int64_t axis) {
  const bool is_moved = layout.blocks().empty() && !is_plain(layout);
  if (!is_moved || axis == 0) return static_cast<int>(axis);
  return static_cast<int>(axis == 1 ? layout.rank() - 1 : axis - 1);
}

/// Where a part begins that is at `start` of the whole.
inline Shape memory_start(const Layout& layout, const Shape& start) {
  return in_memory_order(layout, start, 0);
}

/// The layout of a whole that is made of parts, or cut into them: that of
/// `like`, if channels fill its blocks in each of them.
inline Layout layout_of_whole(const Layout& like, const TensorDescriptor& whole,
                              const std::vector<TensorDescriptor>& parts) {
  const bool is_padding =
      is_padded(layout_like(like, whole)) ||
      std::ranges::any_of(parts, [&](const TensorDescriptor& part) {
        return is_padded(layout_like(like, part));
      });
  return is_padding ? Layout::plain(whole.shape, whole.data_type)
                    : layout_like(like, whole);
}

}  // namespace traingraph::cpu
