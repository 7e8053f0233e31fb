// SPDX-License-Identifier: MIT
// The sizes of a matrix product, where its operands have their elements, and
// the tile that a block of our kernel (kernels/product.cuh) has of the result.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/ops/walk.h"

namespace traingraph::cuda {

/// Rows of x or columns of y. Deep ones have their depth side by side in
/// memory, wide ones one depth of all lines.
struct ProductLines {
  Extents batch_strides;
  Extent count;
  Extent stride;  // from line to line; of wide ones from depth to depth
  bool is_deep = true;
  int width = 1;  // elements that can be copied as one
};

/// How large a product is, with a usual batch in place of what follows the
/// batch: kernels are chosen by these, so that other batch sizes have the same.
struct UsualSizes {
  double batches = 1, rows = 1, columns = 1, depth = 1;

  double num_multiplications() const {
    return batches * rows * columns * depth;
  }
};

/// z[batch, row, column] = sum of x[batch, row, d] y[batch, d, column].
struct ProductPlan {
  Extents batch;
  Extent depth;
  ProductLines x, y;
  UsualSizes usual;

  const Extent& rows() const { return x.count; }
  const Extent& columns() const { return y.count; }
  Extent num_batches() const { return product(batch); }
  Extent count() const { return num_batches() * rows() * columns(); }
};

/// Of a MatMul node. Batches of one y become rows of x.
ProductPlan plan_product(const UnitBuilder& unit);

struct ProductTile {
  std::int64_t rows, columns, depth, stages;

  std::int64_t num_tiles(const ProductPlan& plan) const;
};

/// The tile that takes least time on a large card, as it is estimated.
ProductTile choose_tile(const ProductPlan& plan, std::int64_t element_bytes);
/// Blocks that share the depth of one tile.
std::int64_t choose_splits(const ProductPlan& plan, const ProductTile& tile);

}  // namespace traingraph::cuda
