// SPDX-License-Identifier: MIT
#include "lowering/layout.h"

#include <algorithm>
#include <utility>

namespace traingraph {
namespace {

std::size_t bytes_of(const Layout::Sizes& padded, DataType type) {
  std::size_t bytes = size_of(type);
  for (std::int64_t size : padded) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

/// Dense strides where `order` names the axes from the outermost on.
Layout::Sizes dense_strides(const Layout::Sizes& sizes,
                            const std::vector<std::size_t>& order,
                            std::int64_t innermost) {
  Layout::Sizes strides(sizes.size(), innermost);
  std::int64_t step = innermost;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= sizes[order[i]];
  }
  return strides;
}

std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  return order;
}

bool has_channels_last(const Layout& layout) {
  return layout.is_strided() &&
         same_layout(layout,
                     Layout::channels_last(layout.sizes(), layout.data_type()));
}

/// Channels of a block; 0: it has none, or other blocks.
std::int64_t channels_of_block(const Layout& layout) {
  const auto& blocks = layout.blocks();
  if (blocks.size() != 1 || blocks[0].axis != 1) return 0;
  return same_layout(layout,
                     Layout::channel_blocks(layout.sizes(), blocks[0].size,
                                            layout.data_type()))
             ? blocks[0].size
             : 0;
}

/// The layout of `like`, if convolutions choose it, for (N, C, W) or (N, C, H,
/// W); or empty.
Layout of_channels(const Layout& like, const TensorDescriptor& desc) {
  const auto is_image = [](int rank) { return rank == 3 || rank == 4; };
  if (!is_image(like.rank()) || !is_image(desc.shape.rank())) return {};
  if (is_plain(like)) return {};  // also where channels last are the same
  const Layout::Sizes sizes = to_sizes(desc.shape);
  if (has_channels_last(like)) {
    return Layout::channels_last(sizes, desc.data_type);
  }
  const std::int64_t block = channels_of_block(like);
  const bool is_known = block == 8 || block == 16;
  return is_known ? Layout::channel_blocks(sizes, block, desc.data_type)
                  : Layout();
}

}  // namespace

Layout::Layout(Fields fields)
    : fields_(std::make_shared<const Fields>(std::move(fields))) {}

Layout Layout::plain(const Shape& shape, DataType type) {
  Sizes sizes = to_sizes(shape);
  Sizes strides = dense_strides(sizes, row_major(sizes.size()), 1);
  return strided(std::move(sizes), std::move(strides), type);
}

Layout Layout::strided(Sizes sizes, Sizes strides, DataType type) {
  // The number of elements from the first to the last.
  std::size_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    elements += static_cast<std::size_t>((sizes[i] - 1) * strides[i]);
  }
  Fields fields{.sizes = sizes,
                .padded_sizes = std::move(sizes),
                .strides = std::move(strides),
                .blocks = {},
                .data_type = type,
                .bytes = elements * size_of(type),
                .native = nullptr};
  return Layout(std::move(fields));
}

Layout Layout::channels_last(const Sizes& sizes, DataType type) {
  auto order = row_major(sizes.size());
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return strided(sizes, dense_strides(sizes, order, 1), type);
}

Layout Layout::channel_blocks(const Sizes& sizes, std::int64_t block,
                              DataType type) {
  Sizes padded = sizes, blocked = sizes;
  blocked[1] = (sizes[1] + block - 1) / block;
  padded[1] = blocked[1] * block;
  Fields fields{
      .sizes = sizes,
      .padded_sizes = padded,
      .strides = dense_strides(blocked, row_major(sizes.size()), block),
      .blocks = {{block, 1}},
      .data_type = type,
      .bytes = bytes_of(padded, type),
      .native = nullptr};
  return Layout(std::move(fields));
}

bool Layout::is_strided() const {
  return !empty() && !is_opaque() && blocks().empty();
}

bool Layout::has_same_native(const Layout& other) const {
  return native() && other.native() &&
         fields().same_native(native(), other.native());
}

const Layout::Fields& Layout::fields() const {
  static const Fields nothing;
  return fields_ ? *fields_ : nothing;
}

Layout::Sizes to_sizes(const Shape& shape) {
  if (shape.empty()) return {1};
  return {shape.begin(), shape.end()};
}

bool PlainLayouts::Less::operator()(const TensorDescriptor& a,
                                    const TensorDescriptor& b) const {
  if (a.data_type != b.data_type) return a.data_type < b.data_type;
  return std::ranges::lexicographical_compare(a.shape, b.shape);
}

const Layout& PlainLayouts::of(const TensorDescriptor& tensor) {
  const auto [it, is_new] = layouts_.try_emplace(tensor);
  if (is_new) it->second = Layout::plain(tensor.shape, tensor.data_type);
  return it->second;
}

Layout layout_like(const Layout& like, const TensorDescriptor& desc) {
  Layout found;
  if (like.rank() == desc.shape.rank()) found = of_channels(like, desc);
  return found.empty() ? Layout::plain(desc.shape, desc.data_type) : found;
}

Layout reshaped(const Layout& layout, const TensorDescriptor& desc) {
  const Layout::Sizes sizes = to_sizes(desc.shape);
  if (layout.sizes() == sizes) return layout;
  if (is_plain(layout)) return Layout::plain(desc.shape, desc.data_type);
  const bool keeps_channels = layout.rank() > 1 && sizes.size() > 1 &&
                              layout.sizes()[0] == sizes[0] &&
                              layout.sizes()[1] == sizes[1];
  return keeps_channels ? of_channels(layout, desc) : Layout();
}

Layout transposed(const Layout& layout, const Shape& axes) {
  if (!layout.is_strided() || is_padded(layout) ||
      layout.rank() != axes.rank()) {
    return {};
  }
  Layout::Sizes sizes, strides;
  for (const std::int64_t axis : axes) {
    sizes.push_back(layout.sizes()[static_cast<std::size_t>(axis)]);
    strides.push_back(layout.strides()[static_cast<std::size_t>(axis)]);
  }
  return Layout::strided(std::move(sizes), std::move(strides),
                         layout.data_type());
}

bool same_layout(const Layout& a, const Layout& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  if (a.is_opaque() || b.is_opaque()) {
    return a.is_opaque() == b.is_opaque() && a.has_same_native(b);
  }
  if (a.data_type() != b.data_type() || a.sizes() != b.sizes() ||
      a.padded_sizes() != b.padded_sizes() || a.blocks() != b.blocks()) {
    return false;
  }
  const bool has_blocks = !a.blocks().empty();
  for (std::size_t i = 0; i < a.sizes().size(); ++i) {
    if (a.sizes()[i] == 1 && !has_blocks) continue;
    if (a.strides()[i] != b.strides()[i]) return false;
  }
  return true;
}

bool is_plain(const Layout& layout) {
  if (!layout.is_strided() || is_padded(layout)) return false;
  const Layout::Sizes &sizes = layout.sizes(), &strides = layout.strides();
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0; expected *= sizes[i]) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
  }
  return true;
}

bool is_padded(const Layout& layout) {
  return layout.sizes() != layout.padded_sizes();
}

Shape element_strides(const Shape& shape) {
  Shape strides = Shape::filled(shape.rank(), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  }
  return strides;
}

}  // namespace traingraph
