// SPDX-License-Identifier: MIT
// Sources of fully connected layers: rows of features, whatever stands before.
#pragma once

#include "layers/layer_builder.h"

namespace traingraph {

/// The first source of a layer, (..., features) or (N, features, 1, 1), as
/// (rows, features).
class Rows {
 public:
  /// Throws ShapeError.
  Rows(LayerBuilder& builder, std::int64_t features);
  ValueId value() const { return value_; }
  /// Gives (rows, features) the shape of the source.
  ValueId restore(LayerBuilder& builder, ValueId rows,
                  std::int64_t features) const;

 private:
  ValueId value_;
  Shape shape_;
  bool has_pixels_;  // (N, C, 1, 1), which keeps its channels on axis 1
};

}  // namespace traingraph
