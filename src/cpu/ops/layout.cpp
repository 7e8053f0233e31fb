// SPDX-License-Identifier: MIT
// Ops that only move elements: reshape, transpose, concatenate, split, slice
// and its adjoint. Padding is in layout_pad.cpp. Any data type, by element
// size.
#include <cstring>
#include <vector>

#include "cpu/engine/reorder.h"
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

/// Start of the part at `position` along `axis`.
Shape start_at(int rank, std::int64_t axis, std::int64_t position) {
  Shape start = Shape::filled(rank, 0);
  start[axis] = position;
  return start;
}

void emit_copy(NodeLowering& lowering, const WindowCopy& copy) {
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, x = at[x], y = at[y]] { copy(x, y); };
  });
}

/// Strides of the source in the order of the result's axes.
Shape permuted(const Shape& values, const Shape& axes) {
  Shape result;
  for (std::int64_t axis : axes) result.push_back(values[axis]);
  return result;
}

/// Do axes with more than one element keep their order?
bool keeps_order(const Shape& shape, const Shape& axes) {
  std::int64_t last = -1;
  for (std::int64_t axis : axes) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

void lower_reshape(NodeLowering& lowering) { lowering.alias(0, 0); }

void lower_transpose(NodeLowering& lowering) {
  const Shape& axes = lowering.attrs<TransposeAttrs>().axes;
  const TensorDescriptor& source = lowering.input_desc(0);
  const Shape& target = lowering.result_shape(0);
  if (keeps_order(source.shape, axes)) return lowering.alias(0, 0);

  const Shape strides = permuted(element_strides(source.shape), axes);
  const std::size_t element_bytes = size_of(source.data_type);
  if (element_bytes != 1 && element_bytes != 4) {
    return emit_copy(
        lowering,
        {StridedCopy(target, strides, element_strides(target), element_bytes),
         0, 0});
  }
  // Engines move elements of 1 and 4 bytes without looking at them.
  const DataType type =
      element_bytes == 4 ? DataType::Float32 : DataType::UInt8;
  Reorder reorder =
      make_reorder(Layout::strided(to_sizes(target), to_sizes(strides), type),
                   Layout::plain(target, type));
  lowering.read(0);
  lowering.write(0);
  if (reorder.scratch_bytes > 0) lowering.scratch(reorder.scratch_bytes);
  lowering.emit(std::move(reorder.bind));
}

void lower_concatenate(NodeLowering& lowering) {
  const TensorDescriptor& whole = lowering.result_desc(0);
  const std::int64_t axis = lowering.attrs<AxisAttrs>().axis;
  const std::size_t element_bytes = size_of(whole.data_type);
  const int num_parts = static_cast<int>(lowering.node().inputs.size());
  std::vector<WindowCopy> copies;
  std::int64_t position = 0;
  for (int i = 0; i < num_parts; ++i) {
    const Shape& part = lowering.input_shape(i);
    lowering.read(i);
    copies.push_back(scatter(whole.shape, start_at(part.rank(), axis, position),
                             {}, part, element_bytes));
    position += part[axis];
  }
  const int y = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    // Inputs are the first arguments.
    const std::vector<const std::byte*> parts(at.begin(),
                                              at.begin() + num_parts);
    return [copies, parts, y = at[y]] {
      for (std::size_t i = 0; i < parts.size(); ++i) copies[i](parts[i], y);
    };
  });
}

void lower_split(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SplitAttrs>();
  const TensorDescriptor& whole = lowering.input_desc(0);
  const std::int64_t axis = attrs.axis;
  const int x = lowering.read(0);
  std::vector<WindowCopy> copies;
  std::vector<int> targets;
  std::int64_t position = 0;
  for (int r = 0; r < attrs.lengths.rank(); ++r) {
    if (lowering.is_used(r)) {
      copies.push_back(
          gather(whole.shape, start_at(whole.shape.rank(), axis, position), {},
                 lowering.result_shape(r), size_of(whole.data_type)));
      targets.push_back(lowering.write(r));
    }
    position += attrs.lengths[r];
  }
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    std::vector<std::byte*> parts;
    for (int target : targets) parts.push_back(at[target]);
    return [copies, parts, x = at[x]] {
      for (std::size_t i = 0; i < parts.size(); ++i) copies[i](x, parts[i]);
    };
  });
}

void lower_slice(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SliceAttrs>();
  const TensorDescriptor& whole = lowering.input_desc(0);
  emit_copy(lowering,
            gather(whole.shape, attrs.start, attrs.stride,
                   lowering.result_shape(0), size_of(whole.data_type)));
}

void lower_slice_gradient(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SliceGradientAttrs>();
  const TensorDescriptor& whole = lowering.result_desc(0);
  const WindowCopy copy =
      scatter(whole.shape, attrs.start, attrs.stride, lowering.input_shape(0),
              size_of(whole.data_type));
  const int gradient = lowering.read(0), dx = lowering.write(0);
  lowering.emit([=, bytes = static_cast<std::int64_t>(whole.size_bytes())](
                    std::span<std::byte* const> at) -> BoundKernel {
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
