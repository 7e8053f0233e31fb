// SPDX-License-Identifier: MIT
#include "layers/rows.h"

#include <string>

#include "traingraph/error.h"

namespace traingraph {

Rows::Rows(LayerBuilder& builder, std::int64_t features)
    : value_(builder.source(0)), shape_(builder.shape(value_)) {
  has_pixels_ = shape_.rank() == 4 && shape_[1] == features && shape_[2] == 1 &&
                shape_[3] == 1;
  if (!has_pixels_ && (shape_.rank() < 2 || shape_.back() != features)) {
    const std::string count = std::to_string(features);
    throw ShapeError(
        {.op = "node",
         .node = builder.name(),
         .what = "the source does not fit the layer",
         .expected = "(..., " + count + ") or (N, " + count + ", 1, 1)",
         .got = shape_.to_string(),
         .hint = "Reshape images to (N, -1) first."});
  }
  if (shape_.rank() == 2) return;
  value_ =
      builder.append(OpKind::Reshape, ShapeAttrs{{-1, features}}, {value_});
}

ValueId Rows::restore(LayerBuilder& builder, ValueId rows,
                      std::int64_t features) const {
  if (shape_.rank() == 2) return rows;
  ShapeAttrs attrs{.shape = shape_};
  attrs.shape[has_pixels_ ? 1 : shape_.rank() - 1] = features;
  return builder.append(OpKind::Reshape, attrs, {rows});
}

}  // namespace traingraph
