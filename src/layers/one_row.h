// SPDX-License-Identifier: MIT
// Windows over sequences (N, C, L): those over images (N, C, 1, L).
#pragma once

#include <string>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph {

/// (N, C, L) -> (N, C, 1, L).
inline ValueId as_image(LayerBuilder& builder, ValueId x) {
  const Shape shape = builder.shape(x);
  return builder.append(OpKind::Reshape,
                        ShapeAttrs{{shape[0], shape[1], 1, shape[2]}}, {x});
}

/// (N, C, 1, L) -> (N, C, L).
inline ValueId as_sequence(LayerBuilder& builder, ValueId x) {
  const Shape shape = builder.shape(x);
  return builder.append(OpKind::Reshape,
                        ShapeAttrs{{shape[0], shape[1], shape[3]}}, {x});
}

/// `pair` for one row: what it says of the height becomes `none`, which it has
/// to be, or what it says of the width. Throws InvalidArgument.
inline Pair of_one_row(const char* op, const char* field, const Pair& pair,
                       std::int64_t none) {
  require_option(pair[0] == none || pair[0] == pair[1], op, field,
                 "(" + std::to_string(none) + ", width) for a source (N, C, L)",
                 Shape(pair).to_string());
  return {none, pair[1]};
}

/// A window descriptor for images of one row.
template <class Descriptor>
Descriptor of_one_row(const char* op, Descriptor descriptor) {
  descriptor.kernel_size =
      of_one_row(op, "kernel_size", descriptor.kernel_size, 1);
  descriptor.strides = of_one_row(op, "strides", descriptor.strides, 1);
  descriptor.dilation_rates =
      of_one_row(op, "dilation_rates", descriptor.dilation_rates, 1);
  descriptor.padding_sizes =
      of_one_row(op, "padding_sizes", descriptor.padding_sizes, 0);
  return descriptor;
}

}  // namespace traingraph
