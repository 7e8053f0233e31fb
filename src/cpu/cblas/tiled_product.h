// SPDX-License-Identifier: MIT
// One product divided among the threads: a grid of tiles, each a call of
// the CBLAS on one thread. The grid depends on the sizes and the number of
// threads alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/cblas/sgemm.h"
#include "cpu/parallel.h"

namespace traingraph::cpu {

/// Rows and columns of z, of matrix `index` of a stack.
struct ProductTile {
  std::int64_t row, column, rows, columns;
};

class TiledProduct {
 public:
  TiledProduct() = default;
  /// Is z read again, by an epilogue?
  TiledProduct(const ProductSize& size, int num_threads, bool has_epilogue)
      : size_(size) {
    // The grid whose operands are read least often.
    double best = 0;
    for (int rows = 1; rows <= num_threads; ++rows) {
      if (num_threads % rows != 0) continue;
      const int columns = num_threads / rows;
      if (rows > 1 && size.rows < rows * kMinRows) continue;
      if (columns > 1 && size.columns < columns * kPanel) continue;
      const double read = static_cast<double>(size.rows) * columns +
                          static_cast<double>(size.columns) * rows;
      if (best != 0 && read >= best) continue;
      best = read;
      row_parts_ = rows;
      column_parts_ = columns;
    }
    rows_at_once_ = size.rows;
    if (!has_epilogue) return;
    // A tile is as much of z as stays in the second cache until the epilogue
    // reads it, unless packing y once more, `depth` floats for each column,
    // takes longer than to fetch z.
    const std::int64_t columns = (size.columns - 1) / column_parts_ + 1;
    rows_at_once_ = std::max(kMaxFloats / columns, kRowsPerTerm * size.depth);
  }

  const ProductSize& size() const { return size_; }

  /// z = alpha x y; finish(tile) is called for each tile when it is there.
  template <class Finish>
  void run(float alpha, const BlasOperand& x, const BlasOperand& y, float* z,
           std::int64_t z_row, const Finish& finish) const {
    const auto share = [&](int index) {
      const Part rows(size_.rows, index / column_parts_, row_parts_, kMinRows);
      const Part columns(size_.columns, index % column_parts_, column_parts_);
      if (columns.begin >= columns.end) return;
      for (std::int64_t i = rows.begin; i < rows.end; i += rows_at_once_) {
        const ProductTile tile{i, columns.begin,
                               std::min(rows_at_once_, rows.end - i),
                               columns.end - columns.begin};
        sgemm({tile.rows, tile.columns, size_.depth}, alpha, x.at(i, 0),
              y.at(0, tile.column), z + i * z_row + tile.column, z_row,
              /*adds=*/false);
        finish(tile);
      }
    };
    run_workers(row_parts_ * column_parts_, share);
  }

 private:
  static constexpr std::int64_t kMinRows = 8;
  static constexpr std::int64_t kRowsPerTerm = 4;
  static constexpr std::int64_t kMaxFloats = std::int64_t{1} << 17;

  ProductSize size_{};
  int row_parts_ = 1, column_parts_ = 1;
  std::int64_t rows_at_once_ = 1;
};

}  // namespace traingraph::cpu
