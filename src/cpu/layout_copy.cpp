// SPDX-License-Identifier: MIT
#include "cpu/layout_copy.h"

#include "cpu/strided_copy.h"

namespace traingraph::cpu {
namespace {

Shape to_shape(const Layout::Sizes& sizes) {
  Shape shape;
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

Layout with_type(const Layout& layout, DataType type) {
  return Layout::strided(layout.sizes(), layout.strides(), type);
}

/// Plain, or with channels last.
bool is_of_images(const Layout& layout) {
  return is_plain(layout) ||
         same_layout(layout,
                     Layout::channels_last(layout.sizes(), layout.data_type()));
}

}  // namespace

Reorder make_layout_copy(const Layout& from, const Layout& to) {
  const bool moves_elements = from.is_strided() && to.is_strided() &&
                              from.data_type() == to.data_type();
  if (!moves_elements) return make_reorder(from, to);
  // Engines move elements of 1 and 4 bytes without looking at them.
  const std::size_t bytes = size_of(to.data_type());
  if (bytes == 1 || bytes == 4) {
    const DataType type = bytes == 4 ? DataType::Float32 : DataType::UInt8;
    return make_reorder(with_type(from, type), with_type(to, type));
  }
  const bool is_float_image = is_float(to.data_type()) && to.rank() > 2 &&
                              is_of_images(from) && is_of_images(to);
  if (is_float_image) return make_reorder(from, to);
  const StridedCopy copy(to_shape(to.sizes()), to_shape(from.strides()),
                         to_shape(to.strides()), bytes);
  return {[copy](BindContext& at) -> BoundKernel {
    return [copy, from = at[0], to = at[1]] { copy(from, to); };
  }};
}

}  // namespace traingraph::cpu
