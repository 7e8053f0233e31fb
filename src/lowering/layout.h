// SPDX-License-Identifier: MIT
// Where a tensor's elements are in memory: row-major, with other strides, or in
// blocks of channels. Engines may know layouts that are more than that; such a
// one carries the engine's own description along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "traingraph/types.h"

namespace traingraph {

/// A value; copies share what they hold.
class Layout {
 public:
  using Sizes = std::vector<std::int64_t>;
  /// The innermost elements: `size` of axis `axis`.
  struct Block {
    std::int64_t size;
    int axis;
    bool operator==(const Block&) const = default;
  };
  struct Fields {
    Sizes sizes;
    Sizes padded_sizes;
    Sizes strides;  // of blocks, in elements
    std::vector<Block> blocks;
    DataType data_type = DataType::Float32;
    std::size_t bytes = 0;
    /// Strides and blocks do not tell where the elements are.
    bool is_opaque = false;
    /// The engine's description, and its comparison; may be null unless opaque.
    std::shared_ptr<const void> native;
    bool (*same_native)(const void*, const void*) = nullptr;
  };

  /// The layout of nothing.
  Layout() = default;
  explicit Layout(Fields fields);
  /// Row-major (rank 0 becomes (1)).
  static Layout plain(const Shape& shape, DataType type);
  static Layout strided(Sizes sizes, Sizes strides, DataType type);
  /// (N, C, ...) in the order (N, ..., C).
  static Layout channels_last(const Sizes& sizes, DataType type);
  /// (N, C, ...) in blocks of `block` channels.
  static Layout channel_blocks(const Sizes& sizes, std::int64_t block,
                               DataType type);

  bool empty() const { return !fields_; }
  int rank() const { return static_cast<int>(sizes().size()); }
  const Sizes& sizes() const { return fields().sizes; }
  const Sizes& padded_sizes() const { return fields().padded_sizes; }
  const Sizes& strides() const { return fields().strides; }
  const std::vector<Block>& blocks() const { return fields().blocks; }
  DataType data_type() const { return fields().data_type; }
  std::size_t bytes() const { return fields().bytes; }
  bool is_opaque() const { return fields().is_opaque; }
  const void* native() const { return fields().native.get(); }
  bool has_same_native(const Layout& other) const;
  /// Do strides alone say where elements are, without gaps of blocks?
  bool is_strided() const;

 private:
  const Fields& fields() const;

  std::shared_ptr<const Fields> fields_;
};

Layout::Sizes to_sizes(const Shape& shape);
/// Row-major strides of `shape`, in elements.
Shape element_strides(const Shape& shape);

/// Layout::plain() of many tensors: equal ones share what they hold.
class PlainLayouts {
 public:
  const Layout& of(const TensorDescriptor& tensor);

 private:
  struct Less {
    bool operator()(const TensorDescriptor& a, const TensorDescriptor& b) const;
  };
  std::map<TensorDescriptor, Layout, Less> layouts_;
};

/// The layout of `like` (one that convolutions choose) for another shape of as
/// many axes; the plain one when it is none of those.
Layout layout_like(const Layout& like, const TensorDescriptor& desc);
/// The same bytes seen as `desc`, with as many elements in the same order of
/// rows: plain ones as plain, and those that convolutions choose where samples
/// and channels stay the first two axes, whatever becomes of the others. Empty
/// where no layout says it.
Layout reshaped(const Layout& layout, const TensorDescriptor& desc);

/// The same bytes where axis i is `layout`'s axis axes[i]. Empty where it has
/// blocks, or as many axes as its tensor has not.
Layout transposed(const Layout& layout, const Shape& axes);

/// Do both place every element at the same offset? Strides of axes with one
/// element do not count.
bool same_layout(const Layout& a, const Layout& b);
/// Is it row-major, without gaps?
bool is_plain(const Layout& layout);
/// Are there bytes that belong to no element (channels rounded up to a block)?
/// They hold zeros.
bool is_padded(const Layout& layout);

}  // namespace traingraph
