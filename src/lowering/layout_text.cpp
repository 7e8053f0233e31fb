// SPDX-License-Identifier: MIT
#include "lowering/layout_text.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <utility>

namespace traingraph {
namespace {

/// One letter per axis.
std::string axis_names(std::size_t rank, bool is_weights) {
  if (rank == 4) return is_weights ? "oihw" : "nchw";
  if (rank == 5 && is_weights) return "goihw";  // of groups
  std::string names(rank, 'a');
  std::iota(names.begin(), names.end(), 'a');
  return names;
}

bool is_row_major(const Layout& layout) {
  if (!layout.blocks().empty()) return false;
  const Layout::Sizes &dims = layout.sizes(), &strides = layout.strides();
  std::int64_t expected = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] != 1 && strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

}  // namespace

std::string layout_text(const Layout& layout, bool is_weights) {
  if (layout.is_opaque()) return "opaque";
  if (is_row_major(layout)) return "plain";
  const Layout::Sizes &dims = layout.sizes(), &strides = layout.strides();
  const std::string names = axis_names(dims.size(), is_weights);
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Where one element is all there is, the stride says nothing: innermost.
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t axis) {
    return std::pair(strides[axis], dims[axis] > 1);
  });
  std::string text;
  for (std::size_t axis : order) {
    const bool is_cut = std::ranges::any_of(
        layout.blocks(),
        [&](const Layout::Block& block) { return block.axis == int(axis); });
    text += is_cut ? static_cast<char>(std::toupper(names[axis])) : names[axis];
  }
  for (const Layout::Block& block : layout.blocks()) {
    text += std::to_string(block.size) + names[block.axis];
  }
  return text;
}

}  // namespace traingraph
