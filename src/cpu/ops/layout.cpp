// SPDX-License-Identifier: MIT
// Ops that only move elements: reshape, transpose, concatenate, split, slice
// and its adjoint. Padding is in layout_pad.cpp. Any data type, by element
// size.
#include <cstring>
#include <vector>

#include "base/axes.h"
#include "cpu/layout_copy.h"
#include "cpu/ops/layout_parts.h"
#include "cpu/parallel.h"
#include "cpu/strided_copy.h"

namespace traingraph::cpu {
namespace {

/// The step to a second sample of a window, where there is one: a factor may be
/// far larger than its axis.
Shape scaled(const Shape& strides, const Shape& factors, const Shape& window) {
  Shape result = strides;
  if (factors.empty()) return result;
  for (int axis = 0; axis < result.rank(); ++axis) {
    if (window[axis] > 1) result[axis] *= factors[axis];
  }
  return result;
}

std::int64_t offset_of(const Shape& index, const Shape& strides) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    offset += index[axis] * strides[axis];
  }
  return offset;
}

/// Copies from, or to, a window of a larger tensor.
struct WindowCopy {
  StridedCopy copy;
  std::int64_t source_bytes, target_bytes;  // where the window begins
  void operator()(const std::byte* source, std::byte* target) const {
    copy(source + source_bytes, target + target_bytes);
  }
};

/// Reads elements start, start + stride, ... of `whole`.
WindowCopy gather(const Shape& whole, const Shape& start, const Shape& stride,
                  const Shape& window, std::size_t element_bytes) {
  const Shape strides = element_strides(whole);
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  return {StridedCopy(window, scaled(strides, stride, window),
                      element_strides(window), element_bytes),
          offset_of(start, strides) * bytes, 0};
}

/// Writes them.
WindowCopy scatter(const Shape& whole, const Shape& start, const Shape& stride,
                   const Shape& window, std::size_t element_bytes) {
  const Shape strides = element_strides(whole);
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  return {StridedCopy(window, element_strides(window),
                      scaled(strides, stride, window), element_bytes),
          0, offset_of(start, strides) * bytes};
}

/// Where the part at `position` along `axis` begins.
Shape start_at(const Layout& layout, std::int64_t axis, std::int64_t position) {
  Shape start = Shape::filled(layout.rank(), 0);
  start[static_cast<int>(axis)] = position;
  return memory_start(layout, start);
}

void emit_copy(UnitBuilder& unit, const WindowCopy& copy, int x, int y) {
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, x = at[x], y = at[y]] { copy(x, y); };
  });
}

}  // namespace

void lower_reshape(UnitBuilder& unit) { unit.alias(0, 0); }

void lower_transpose(UnitBuilder& unit) {
  const Shape& axes = unit.attrs<TransposeAttrs>().axes;
  const TensorDescriptor& source = unit.input_desc(0);
  if (keeps_order(source.shape, axes)) return unit.alias(0, 0);

  if (unit.alias_transposed(0, 0, axes)) return;
  Reorder reorder = make_layout_copy(transposed(unit.plain(source), axes),
                                     unit.plain(unit.result_desc(0)));
  unit.read(0);
  unit.write(0);
  if (reorder.scratch_bytes > 0) unit.scratch(reorder.scratch_bytes);
  emit(unit, std::move(reorder.bind));
}

void lower_concatenate(UnitBuilder& unit) {
  const TensorDescriptor& whole = unit.result_desc(0);
  const std::int64_t axis = unit.attrs<AxisAttrs>().axis;
  const std::size_t element_bytes = size_of(whole.data_type);
  const int num_parts = static_cast<int>(unit.node().inputs.size());
  std::vector<TensorDescriptor> parts;
  Layout layout = unit.plain(whole);
  for (int i = 0; i < num_parts; ++i) {
    parts.push_back(unit.input_desc(i));
    if (is_plain(layout)) layout = layout_like(unit.layout(i), whole);
  }
  layout = layout_of_whole(layout, whole, parts);
  std::vector<WindowCopy> copies;
  std::int64_t position = 0;
  for (int i = 0; i < num_parts; ++i) {
    const Layout part = layout_like(layout, parts[i]);
    unit.read(i, part);
    copies.push_back(scatter(memory_sizes(layout, layout),
                             start_at(layout, axis, position), {},
                             memory_sizes(layout, part), element_bytes));
    position += parts[i].shape[static_cast<int>(axis)];
  }
  const int y = unit.write(0, layout);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    // Inputs are the first arguments.
    std::vector<const std::byte*> parts;
    for (int i = 0; i < num_parts; ++i) parts.push_back(at[i]);
    return [copies, parts, y = at[y]] {
      for (std::size_t i = 0; i < parts.size(); ++i) copies[i](parts[i], y);
    };
  });
}

void lower_split(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SplitAttrs>();
  const TensorDescriptor& whole = unit.input_desc(0);
  const std::int64_t axis = attrs.axis;
  std::vector<TensorDescriptor> parts;
  for (int r = 0; r < attrs.lengths.rank(); ++r) {
    parts.push_back(unit.result_desc(r));
  }
  const Layout layout = layout_of_whole(unit.layout(0), whole, parts);
  const int x = unit.read(0, layout);
  std::vector<WindowCopy> copies;
  std::vector<int> targets;
  std::int64_t position = 0;
  for (int r = 0; r < attrs.lengths.rank(); ++r) {
    if (unit.is_used(r)) {
      const Layout part = layout_like(layout, parts[r]);
      copies.push_back(
          gather(memory_sizes(layout, layout), start_at(layout, axis, position),
                 {}, memory_sizes(layout, part), size_of(whole.data_type)));
      targets.push_back(unit.write(r, part));
    }
    position += attrs.lengths[r];
  }
  emit(unit, [=](BindContext& at) -> BoundKernel {
    std::vector<std::byte*> parts;
    for (int target : targets) parts.push_back(at[target]);
    return [copies, parts, x = at[x]] {
      for (std::size_t i = 0; i < parts.size(); ++i) copies[i](x, parts[i]);
    };
  });
}

namespace {

/// The layout of a tensor of which a window is read or written: that of `like`,
/// if blocks of channels are whole in it.
template <class Attrs>
Layout layout_around(const Layout& like, const TensorDescriptor& whole,
                     const TensorDescriptor& window, const Attrs& attrs) {
  const Layout layout = layout_of_whole(like, whole, {window});
  const std::int64_t block = block_of(layout);
  const bool cuts_blocks =
      block > 1 && (attrs.start[1] % block != 0 ||
                    (!attrs.stride.empty() && attrs.stride[1] != 1));
  return cuts_blocks ? Layout::plain(whole.shape, whole.data_type) : layout;
}

Shape memory_stride(const Layout& layout, const Shape& stride) {
  return stride.empty() ? stride : in_memory_order(layout, stride, 1);
}

}  // namespace

void lower_slice(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SliceAttrs>();
  const TensorDescriptor &whole = unit.input_desc(0),
                         &window = unit.result_desc(0);
  const Layout from = layout_around(unit.layout(0), whole, window, attrs);
  const Layout to = layout_like(from, window);
  const WindowCopy copy =
      gather(memory_sizes(from, from), memory_start(from, attrs.start),
             memory_stride(from, attrs.stride), memory_sizes(from, to),
             size_of(whole.data_type));
  const int x = unit.read(0, from), y = unit.write(0, to);
  emit_copy(unit, copy, x, y);
}

void lower_slice_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SliceGradientAttrs>();
  const TensorDescriptor &whole = unit.result_desc(0),
                         &window = unit.input_desc(0);
  const Layout to = layout_around(unit.layout(0), whole, window, attrs);
  const Layout from = layout_like(to, window);
  const WindowCopy copy =
      scatter(memory_sizes(to, to), memory_start(to, attrs.start),
              memory_stride(to, attrs.stride), memory_sizes(to, from),
              size_of(whole.data_type));
  const int gradient = unit.read(0, from), dx = unit.write(0, to);
  emit(unit,
       [=, bytes = static_cast<std::int64_t>(to.bytes())](
           BindContext& at) -> BoundKernel {
         return [=, gradient = at[gradient], dx = at[dx]] {
           parallel_for(
               bytes, 4 * kCheapGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 std::memset(dx + begin, 0, end - begin);
               },
               /*multiple=*/64);
           copy(gradient, dx);
         };
       });
}

}  // namespace traingraph::cpu
