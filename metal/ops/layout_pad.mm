// SPDX-License-Identifier: MIT
// Padding and its adjoint, axis by axis: every type of padding is a product of
// what it does to each axis, and three axes are all that some systems pad.
#include <cmath>

#import "metal/fold.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {
namespace {

MPSGraphPaddingMode padding_mode(PaddingType type) {
  switch (type) {
    case PaddingType::Reflect:
      return MPSGraphPaddingModeReflect;
    case PaddingType::Symmetric:
      return MPSGraphPaddingModeSymmetric;
    case PaddingType::Replicate:
      return MPSGraphPaddingModeClampToEdge;
    case PaddingType::Zero:
    case PaddingType::Constant:
      break;
  }
  return MPSGraphPaddingModeConstant;
}

/// What the element type makes of the constant.
double padding_value(const PadAttrs& attrs, DataType type) {
  if (attrs.type != PaddingType::Constant) return 0;
  if (is_float(type)) return attrs.value;
  return type == DataType::Boolean ? attrs.value != 0 : std::trunc(attrs.value);
}

/// Part of the padding of (P, before + size + after, R), added up where all of
/// it came from and zero elsewhere.
T gathered(GraphBuilder& b, T g, const Shape& shape, std::int64_t start,
           std::int64_t length, std::int64_t to, std::int64_t size) {
  const T border = slice_axis(b, g, 1, start, length);
  const T sum = b.sum(border, {shape[0], length, shape[2]}, {1});
  return pad_middle(b, sum, to, size - to - 1);
}

/// Mirrors that part of g back to where it came from.
T mirrored(GraphBuilder& b, T g, std::int64_t start, std::int64_t length,
           std::int64_t to, std::int64_t size) {
  const T border = [b.graph() reverseTensor:slice_axis(b, g, 1, start, length)
                                       axes:ns_list({1})
                                       name:b.name()];
  return pad_middle(b, border, to, size - to - length);
}

}  // namespace

void lower_pad(GraphBuilder& b) {
  const auto& attrs = b.attrs<PadAttrs>();
  const double value = padding_value(attrs, b.input_desc(0).data_type);
  T x = moved_input(b, 0);
  Shape shape = b.input_shape(0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t before = attrs.before[axis], after = attrs.after[axis];
    if (before + after == 0) continue;
    x = pad_middle(b, b.reshape(x, around_axis(shape, axis)), before, after,
                   padding_mode(attrs.type), value);
    shape[axis] += before + after;
  }
  set_moved(b, x);
}

void lower_pad_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<PadAttrs>();
  const bool replicates = attrs.type == PaddingType::Replicate;
  const bool mirrors = attrs.type == PaddingType::Reflect ||
                       attrs.type == PaddingType::Symmetric;
  // Reflection leaves the element at the border alone.
  const std::int64_t skipped = attrs.type == PaddingType::Reflect ? 1 : 0;
  T x = b.input(0);
  Shape shape = b.input_shape(0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t before = attrs.before[axis], after = attrs.after[axis];
    if (before + after == 0) continue;
    const std::int64_t size = shape[axis] - before - after;
    const Shape folded = around_axis(shape, axis);
    const T g = b.reshape(x, folded);
    x = slice_axis(b, g, 1, before, size);
    if (replicates && before > 0) {
      x = b.add(x, gathered(b, g, folded, 0, before, 0, size));
    }
    if (replicates && after > 0) {
      x = b.add(x,
                gathered(b, g, folded, before + size, after, size - 1, size));
    }
    if (mirrors && before > 0) {
      x = b.add(x, mirrored(b, g, 0, before, skipped, size));
    }
    if (mirrors && after > 0) {
      x = b.add(x, mirrored(b, g, before + size, after, size - skipped - after,
                            size));
    }
    shape[axis] = size;
  }
  b.set(b.reshape(x, b.result_shape()));
}

}  // namespace traingraph::metal
