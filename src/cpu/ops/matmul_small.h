// SPDX-License-Identifier: MIT
// Matrix products of a few thousand multiplications, on the calling thread:
// loops of ours, since oneDNN's dispatch, its map of arguments and its scratch
// memory would take as long as the product. Bias and ReLU are computed along.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/panel_products.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {

/// Most multiplications of a product that these loops compute as fast as
/// oneDNN, dispatch included.
inline constexpr std::int64_t kMaxSmall = std::int64_t{1} << 18;

/// z = f(alpha x y + bias), z row-major.
struct SmallProduct {
  ProductSize size;
  std::int64_t x_row, x_column;
  std::int64_t y_row, y_column;  // one of them is 1
  float alpha = 1;
  bool has_relu = false;
  float slope = 0;  // of ReLU
  /// y is panels already: see pack_panels().
  bool has_panels = false;

  bool is_y_transposed() const { return y_column != 1; }
  /// Floats that run_small_product() wants: a panel of y.
  std::int64_t scratch() const { return size.depth * kPanel; }
};

template <class T>
struct SmallProductArgs {
  const T *x, *y, *bias;  // bias may be null
  T* z;
  float* scratch;
};

namespace detail {

/// Columns `j` to `j + columns` of y as a panel, which is y itself where its
/// rows are read as they are.
template <class T>
const float* find_panel(const SmallProduct& product,
                        const SmallProductArgs<T>& args, std::int64_t j,
                        std::int64_t columns, std::int64_t* row) {
  *row = kPanel;
  if constexpr (std::is_same_v<T, float>) {
    if (product.has_panels) return args.y + j * product.size.depth;
  }
  float* const to = args.scratch;
  if (product.is_y_transposed()) {
    pack_transposed_panel(args.y + j * product.y_column, product.y_column,
                          columns, product.size.depth, to);
    return to;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (columns == kPanel) {
      *row = product.y_row;
      return args.y + j;
    }
  }
  for (std::int64_t k = 0; k < product.size.depth; ++k) {
    const T* from = args.y + k * product.y_row + j;
    for (std::int64_t c = 0; c < columns; ++c) to[k * kPanel + c] = from[c];
    std::fill(to + k * kPanel + columns, to + (k + 1) * kPanel, 0.0f);
  }
  return to;
}

/// kRows rows from row `i` on, of one panel.
template <int kFloats, int kRows, class T>
void small_tile(const SmallProduct& product, const SmallProductArgs<T>& args,
                const float* panel, std::int64_t panel_row, const float* bias,
                std::int64_t i, std::int64_t j, std::int64_t columns) {
  float tile[kRows * kPanel];
  multiply_tile<kFloats, kRows>(
      product.size.depth,
      LeftOperand{args.x + i * product.x_row, product.x_row, product.x_column},
      panel, panel_row, [&](int row, int column, const auto& total) {
        std::memcpy(tile + row * kPanel + column * kFloats, &total,
                    sizeof(total));
      });
  const float alpha = product.alpha, slope = product.slope;
  const auto finish = [&](const auto& f) {
    for (int row = 0; row < kRows; ++row) {
      const float* from = tile + row * kPanel;
      T* const to = args.z + (i + row) * product.size.columns + j;
      if (columns == kPanel) {
#pragma omp simd
        for (std::int64_t c = 0; c < kPanel; ++c) {
          to[c] = f(from[c] * alpha + bias[c]);
        }
      } else {
        for (std::int64_t c = 0; c < columns; ++c) {
          to[c] = f(from[c] * alpha + bias[c]);
        }
      }
    }
  };
  if (product.has_relu) {
    finish([slope](float x) { return leaky(x, slope); });
  } else {
    finish([](float x) { return x; });
  }
}

}  // namespace detail

/// A transposed y as panels, for many products: round_up(columns, kPanel) *
/// depth floats.
inline void pack_panels(const SmallProduct& product, const float* y,
                        float* to) {
  const ProductSize& size = product.size;
  for (std::int64_t j = 0; j < size.columns; j += kPanel) {
    pack_transposed_panel(y + j * product.y_column, product.y_column,
                          std::min(kPanel, size.columns - j), size.depth,
                          to + j * size.depth);
  }
}

template <int kFloats, class T>
void run_small_product(const SmallProduct& product,
                       const SmallProductArgs<T>& args) {
  constexpr int kRows = detail::kTileRows<kFloats>;
  const ProductSize& size = product.size;
  for (std::int64_t j = 0; j < size.columns; j += kPanel) {
    const std::int64_t columns = std::min(kPanel, size.columns - j);
    std::int64_t row = 0;
    const float* panel = detail::find_panel(product, args, j, columns, &row);
    float bias[kPanel] = {};
    if (args.bias) std::copy_n(args.bias + j, columns, bias);
    const auto tile = [&]<int kTile>(std::integral_constant<int, kTile>,
                                     std::int64_t i) {
      detail::small_tile<kFloats, kTile>(product, args, panel, row, bias, i, j,
                                         columns);
    };
    std::int64_t i = 0;
    for (; i + kRows <= size.rows; i += kRows) {
      tile(std::integral_constant<int, kRows>(), i);
    }
    if constexpr (kRows == 8) {
      if (i + 4 <= size.rows) {
        tile(std::integral_constant<int, 4>(), i);
        i += 4;
      }
    }
    if (i + 2 <= size.rows) {
      tile(std::integral_constant<int, 2>(), i);
      i += 2;
    }
    if (i < size.rows) tile(std::integral_constant<int, 1>(), i);
  }
}

}  // namespace traingraph::cpu
