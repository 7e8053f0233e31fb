// SPDX-License-Identifier: MIT
// Reference of the layout family.
#include <algorithm>
#include <optional>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

std::int64_t stride_of(const Shape& stride, int axis) {
  return stride.empty() ? 1 : stride[axis];
}

template <class Attrs>
Shape sliced(const Attrs& attrs) {
  Shape shape;
  for (int axis = 0; axis < attrs.start.rank(); ++axis) {
    const std::int64_t stride = stride_of(attrs.stride, axis);
    std::int64_t count = 0;
    for (auto at = attrs.start[axis]; at < attrs.end[axis]; at += stride) {
      ++count;
    }
    shape.push_back(count);
  }
  return shape;
}

template <class Attrs>
Shape slice_source(const Attrs& attrs, Shape at) {
  for (int axis = 0; axis < at.rank(); ++axis) {
    at[axis] = attrs.start[axis] + at[axis] * stride_of(attrs.stride, axis);
  }
  return at;
}

/// The element of an unpadded axis that shows at `at`, which may be outside.
std::optional<std::int64_t> mirror(PaddingType type, std::int64_t at,
                                   std::int64_t size) {
  if (at >= 0 && at < size) return at;
  switch (type) {
    case PaddingType::Reflect:  // c b | a b c | b a
      return at < 0 ? -at : 2 * (size - 1) - at;
    case PaddingType::Symmetric:  // b a | a b c | c b
      return at < 0 ? -at - 1 : 2 * size - 1 - at;
    case PaddingType::Replicate:  // a a | a b c | c c
      return std::clamp<std::int64_t>(at, 0, size - 1);
    default:
      return std::nullopt;
  }
}

/// The element of x that shows at `at` of the padded tensor.
std::optional<Shape> pad_source(const PadAttrs& attrs, const Shape& x,
                                const Shape& at) {
  Shape source = at;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto from =
        mirror(attrs.type, at[axis] - attrs.before[axis], x[axis]);
    if (!from) return std::nullopt;
    source[axis] = *from;
  }
  return source;
}

}  // namespace

RefTensors reference_reshape(const ShapeAttrs& attrs, RefTensors& in) {
  Shape shape = attrs.shape;
  std::int64_t known = 1;
  for (std::int64_t size : shape) known *= size == -1 ? 1 : size;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1) shape[axis] = in[0].shape.num_elements() / known;
  }
  return {{shape, in[0].data}};
}

RefTensors reference_transpose(const TransposeAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  Shape shape = x.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] = x.shape[static_cast<int>(attrs.axes[axis])];
  }
  RefTensor y = zeros(shape);
  for_each_position(shape, [&](const Shape& at) {
    Shape from = at;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      from[static_cast<int>(attrs.axes[axis])] = at[axis];
    }
    y(at) = x(from);
  });
  return {y};
}

RefTensors reference_concatenate(const AxisAttrs& attrs, RefTensors& in) {
  const int axis = static_cast<int>(attrs.axis);
  Shape shape = in[0].shape;
  shape[axis] = 0;
  for (const RefTensor& x : in) shape[axis] += x.shape[axis];
  RefTensor y = zeros(shape);
  std::int64_t offset = 0;
  for (const RefTensor& x : in) {
    for_each_position(x.shape, [&](const Shape& from) {
      Shape to = from;
      to[axis] += offset;
      y(to) = x(from);
    });
    offset += x.shape[axis];
  }
  return {y};
}

RefTensors reference_split(const SplitAttrs& attrs, RefTensors& in) {
  const int axis = static_cast<int>(attrs.axis);
  RefTensors results;
  std::int64_t offset = 0;
  for (std::int64_t length : attrs.lengths) {
    Shape shape = in[0].shape;
    shape[axis] = length;
    RefTensor part = zeros(shape);
    for_each_position(shape, [&](const Shape& to) {
      Shape from = to;
      from[axis] += offset;
      part(to) = in[0](from);
    });
    offset += length;
    results.push_back(part);
  }
  return results;
}

RefTensors reference_slice(const SliceAttrs& attrs, RefTensors& in) {
  RefTensor y = zeros(sliced(attrs));
  for_each_position(y.shape, [&](const Shape& at) {
    y(at) = in[0](slice_source(attrs, at));
  });
  return {y};
}

RefTensors reference_slice_gradient(const SliceGradientAttrs& attrs,
                                    RefTensors& in) {
  RefTensor dx = zeros(attrs.shape);
  for_each_position(in[0].shape, [&](const Shape& at) {
    dx(slice_source(attrs, at)) = in[0](at);
  });
  return {dx};
}

RefTensors reference_pad(const PadAttrs& attrs, RefTensors& in) {
  const RefTensor& x = in[0];
  Shape shape = x.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] += attrs.before[axis] + attrs.after[axis];
  }
  const double outside = attrs.type == PaddingType::Constant ? attrs.value : 0;
  RefTensor y = zeros(shape);
  for_each_position(shape, [&](const Shape& at) {
    const auto from = pad_source(attrs, x.shape, at);
    y(at) = from ? x(*from) : outside;
  });
  return {y};
}

RefTensors reference_pad_gradient(const PadAttrs& attrs, RefTensors& in) {
  const RefTensor& gradient = in[0];
  Shape shape = gradient.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] -= attrs.before[axis] + attrs.after[axis];
  }
  RefTensor dx = zeros(shape);
  for_each_position(gradient.shape, [&](const Shape& at) {
    if (const auto to = pad_source(attrs, shape, at)) dx(*to) += gradient(at);
  });
  return {dx};
}

}  // namespace traingraph::testing
