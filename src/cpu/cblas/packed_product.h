// SPDX-License-Identifier: MIT
// Products whose right operand is multiplied again and again, as the weights of
// recurrent cells: it is packed once, where a CBLAS would do so in each call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/engine/product.h"
#include "cpu/panel_products.h"

namespace traingraph::cpu {

/// Element (k, j) of the right operand as panels: see RightOperand.
inline std::int64_t packed_floats(const ProductSize& size) {
  return round_up(size.columns, kPanel) * size.depth;
}

/// Panel `index` of a matrix at `y`.
inline void pack_panel(const ProductSize& size, const MatrixView& view,
                       const float* y, std::int64_t index, float* packed) {
  const std::int64_t j = index * kPanel;
  const std::int64_t columns = std::min(kPanel, size.columns - j);
  float* const to = packed + j * size.depth;
  if (view.row == 1) {
    return pack_transposed_panel(y + j * view.column, view.column, columns,
                                 size.depth, to);
  }
  for (std::int64_t k = 0; k < size.depth; ++k) {
    const float* const from = y + k * view.row + j * view.column;
    for (std::int64_t c = 0; c < columns; ++c) {
      to[k * kPanel + c] = from[c * view.column];
    }
    std::fill(to + k * kPanel + columns, to + (k + 1) * kPanel, 0.0f);
  }
}

namespace detail {

/// Terms that are added up before their sum is added to the others'.
inline constexpr std::int64_t kPackedTerms = 256;

/// kRows rows of kPanels panels, the last of which may end after `columns`
/// columns.
template <int kFloats, int kRows, int kPanels>
void packed_tile(std::int64_t depth, const LeftOperand<float>& x,
                 const float* panels, std::int64_t panel, float* z,
                 std::int64_t z_row, std::int64_t columns) {
  using Register = typename Vectors<kFloats>::Register;
  constexpr int kParts = static_cast<int>(kPanel) / kFloats;
  constexpr int kColumns = kPanels * kParts;
  float whole[kRows * kPanels * kPanel];
  for (std::int64_t begin = 0; begin < depth; begin += kPackedTerms) {
    const std::int64_t end = std::min(begin + kPackedTerms, depth);
    Register sum[kRows][kColumns];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sum[i][j] = Register{};
    }
    for (std::int64_t k = begin; k < end; ++k) {
      Register right[kColumns];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        std::memcpy(
            &right[j],
            panels + j / kParts * panel + k * kPanel + j % kParts * kFloats,
            sizeof(Register));
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const float left = x.data[i * x.row + k * x.column];
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        float* const to = whole + i * kPanels * kPanel + j * kFloats;
        if (begin > 0) {
          Register before;
          std::memcpy(&before, to, sizeof(Register));
          sum[i][j] += before;
        }
        std::memcpy(to, &sum[i][j], sizeof(Register));
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    std::memcpy(z + i * z_row, whole + i * kPanels * kPanel,
                columns * sizeof(float));
  }
}

template <int kFloats, int kPanels>
void packed_rows(const ProductSize& size, const LeftOperand<float>& x,
                 const float* panels, float* z, std::int64_t z_row,
                 std::int64_t columns) {
  constexpr int kMostRows = kFloats == 16 ? 8 : kFloats == 8 ? 4 : 2;
  const std::int64_t panel = size.depth * kPanel;
  std::int64_t i = 0;
  const auto tiles = [&]<int kRows>(std::integral_constant<int, kRows>) {
    for (; i + kRows <= size.rows; i += kRows) {
      packed_tile<kFloats, kRows, kPanels>(
          size.depth, LeftOperand<float>{x.data + i * x.row, x.row, x.column},
          panels, panel, z + i * z_row, z_row, columns);
    }
  };
  tiles(std::integral_constant<int, kMostRows>());
  if constexpr (kMostRows > 4) tiles(std::integral_constant<int, 4>());
  if constexpr (kMostRows > 2) tiles(std::integral_constant<int, 2>());
  tiles(std::integral_constant<int, 1>());
}

}  // namespace detail

/// Columns of panels [first, last) of z = x y, with y as panels.
template <int kFloats>
void multiply_packed(const ProductSize& size, const LeftOperand<float>& x,
                     const float* packed, float* z, std::int64_t first,
                     std::int64_t last) {
  // Two panels fill the registers of the widest vectors.
  constexpr int kPanels = kFloats == 16 ? 2 : 1;
  for (std::int64_t i = first; i < last; i += kPanels) {
    const std::int64_t j = i * kPanel;
    const float* const panels = packed + j * size.depth;
    const std::int64_t rest = size.columns - j;
    if (i + kPanels <= last) {
      detail::packed_rows<kFloats, kPanels>(size, x, panels, z + j,
                                            size.columns,
                                            std::min(kPanels * kPanel, rest));
    } else {
      detail::packed_rows<kFloats, 1>(size, x, panels, z + j, size.columns,
                                      std::min(kPanel, rest));
    }
  }
}

}  // namespace traingraph::cpu
