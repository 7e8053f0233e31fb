// SPDX-License-Identifier: MIT
// Copies between tensors with other strides, as several families make them.
#pragma once

#include "cuda/ops/walk.h"

namespace traingraph::cuda {

/// Elements of `sizes`, from and to places with these strides and beginnings,
/// in elements.
struct PlacedCopy {
  Extents sizes, from_strides, to_strides;
  Extent from{0}, to{0};
};
/// Of argument `x` to argument `y`.
Launch copy_launch(int x, int y, DataType stored, const PlacedCopy& copy);

}  // namespace traingraph::cuda
