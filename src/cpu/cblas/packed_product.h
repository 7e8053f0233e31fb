// SPDX-License-Identifier: MIT
// Products by loops of ours, for what a CBLAS is not made for: a right operand
// that is multiplied again and again, as the weights of recurrent cells, is
// packed once, not in each call; and small products, for which OpenBLAS
// allocates memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/engine/product.h"
#include "cpu/panel_products.h"

namespace traingraph::cpu {

/// Floats of a whole right operand as panels: see RightOperand.
inline std::int64_t packed_floats(const ProductSize& size) {
  return round_up(size.columns, kPanel) * size.depth;
}

/// Up to kPanel columns of `depth` rows from `y` on as a panel.
inline void pack_panel(const MatrixView& view, const float* y,
                       std::int64_t depth, std::int64_t columns, float* to) {
  if (view.row == 1) {
    return pack_transposed_panel(y, view.column, columns, depth, to);
  }
  if (view.column == 1 && columns == kPanel) {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::memcpy(to + k * kPanel, y + k * view.row, kPanel * sizeof(float));
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const from = y + k * view.row;
    for (std::int64_t c = 0; c < columns; ++c) {
      to[k * kPanel + c] = from[c * view.column];
    }
    std::fill(to + k * kPanel + columns, to + (k + 1) * kPanel, 0.0f);
  }
}

namespace detail {

/// Terms that are added up before their sum is added to the others'.
inline constexpr std::int64_t kPackedTerms = 256;
/// Two panels fill the registers of the widest vectors.
template <int kFloats>
inline constexpr int kPanelsAtOnce = kFloats == 16 ? 2 : 1;

/// Where a product's tile of rows and a few panels is.
struct PackedTarget {
  float* z;
  std::int64_t row, columns;  // the last panel may end before its end
  bool adds;
};

/// kRows rows of kPanels panels.
template <int kFloats, int kRows, int kPanels>
void packed_tile(std::int64_t depth, const LeftOperand<float>& x,
                 const RightOperand& y, const PackedTarget& target) {
  using Register = typename Vectors<kFloats>::Register;
  constexpr int kParts = static_cast<int>(kPanel) / kFloats;
  constexpr int kColumns = kPanels * kParts;
  Register sum[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) sum[i][j] = Register{};
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Register right[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      std::memcpy(
          &right[j],
          y.data + j / kParts * y.panel + k * kPanel + j % kParts * kFloats,
          sizeof(Register));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float left = x.data[i * x.row + k * x.column];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
    }
  }
  if (target.columns == kPanels * kPanel) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        float* const to = target.z + i * target.row + j * kFloats;
        if (target.adds) {
          Register before;
          std::memcpy(&before, to, sizeof(Register));
          sum[i][j] += before;
        }
        std::memcpy(to, &sum[i][j], sizeof(Register));
      }
    }
    return;
  }
  float whole[kRows][kPanels * kPanel];
  std::memcpy(whole, sum, sizeof(whole));
  for (int i = 0; i < kRows; ++i) {
    float* const to = target.z + i * target.row;
    for (std::int64_t j = 0; j < target.columns; ++j) {
      to[j] = target.adds ? to[j] + whole[i][j] : whole[i][j];
    }
  }
}

template <int kFloats, int kPanels>
void packed_rows(std::int64_t rows, std::int64_t depth,
                 const LeftOperand<float>& x, const RightOperand& y,
                 const PackedTarget& target) {
  constexpr int kMaxRows = kTileRows<kFloats>;
  std::int64_t i = 0;
  const auto tiles = [&]<int kRows>(std::integral_constant<int, kRows>) {
    for (; i + kRows <= rows; i += kRows) {
      packed_tile<kFloats, kRows, kPanels>(
          depth, LeftOperand<float>{x.data + i * x.row, x.row, x.column}, y,
          {target.z + i * target.row, target.row, target.columns, target.adds});
    }
  };
  tiles(std::integral_constant<int, kMaxRows>());
  if constexpr (kMaxRows > 4) tiles(std::integral_constant<int, 4>());
  tiles(std::integral_constant<int, 2>());
  tiles(std::integral_constant<int, 1>());
}

}  // namespace detail

/// Columns of panels [first, last) of z = x y, with all of y as panels.
template <int kFloats>
void multiply_packed(const ProductSize& size, const LeftOperand<float>& x,
                     const float* packed, float* z, std::int64_t first,
                     std::int64_t last) {
  constexpr int kPanels = detail::kPanelsAtOnce<kFloats>;
  for (std::int64_t i = first; i < last; i += kPanels) {
    const std::int64_t j = i * kPanel, rest = size.columns - j;
    for (std::int64_t k = 0; k < size.depth; k += detail::kPackedTerms) {
      const std::int64_t depth = std::min(detail::kPackedTerms, size.depth - k);
      const LeftOperand<float> left{x.data + k * x.column, x.row, x.column};
      const RightOperand right{packed + j * size.depth + k * kPanel,
                               size.depth * kPanel};
      detail::PackedTarget target{z + j, size.columns, rest, k > 0};
      if (i + kPanels <= last) {
        target.columns = std::min(kPanels * kPanel, rest);
        detail::packed_rows<kFloats, kPanels>(size.rows, depth, left, right,
                                              target);
      } else {
        target.columns = std::min(kPanel, rest);
        detail::packed_rows<kFloats, 1>(size.rows, depth, left, right, target);
      }
    }
  }
}

/// z = alpha x y, or z += alpha x y when it `adds`, of a y that is packed here,
/// piece by piece, on the stack.
template <int kFloats>
void multiply_unpacked(const ProductSize& size, float alpha,
                       const LeftOperand<float>& x, const float* y,
                       const MatrixView& y_view, float* z, std::int64_t z_row,
                       bool adds) {
  constexpr int kPanels = detail::kPanelsAtOnce<kFloats>;
  constexpr std::int64_t kStep = detail::kPackedTerms * kPanel;
  alignas(64) float panels[kPanels * kStep];
  for (std::int64_t j = 0; j < size.columns; j += kPanels * kPanel) {
    const std::int64_t columns = std::min(kPanels * kPanel, size.columns - j);
    for (std::int64_t k = 0; k < size.depth; k += detail::kPackedTerms) {
      const std::int64_t depth = std::min(detail::kPackedTerms, size.depth - k);
      for (int p = 0; p < kPanels; ++p) {
        const std::int64_t from = j + p * kPanel;
        if (from >= size.columns) break;
        pack_panel(y_view, y + k * y_view.row + from * y_view.column, depth,
                   std::min(kPanel, size.columns - from), panels + p * kStep);
        if (alpha == 1) continue;
        for (std::int64_t i = 0; i < depth * kPanel; ++i) {
          panels[p * kStep + i] *= alpha;
        }
      }
      const LeftOperand<float> left{x.data + k * x.column, x.row, x.column};
      const detail::PackedTarget target{z + j, z_row, columns, adds || k > 0};
      if (columns > kPanel) {
        detail::packed_rows<kFloats, kPanels>(size.rows, depth, left,
                                              {panels, kStep}, target);
      } else {
        detail::packed_rows<kFloats, 1>(size.rows, depth, left, {panels, kStep},
                                        target);
      }
    }
  }
}

}  // namespace traingraph::cpu
