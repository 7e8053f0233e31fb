// SPDX-License-Identifier: MIT
// The innermost loops of convolutions of stride 1 that read a padded image as
// it is. Channels of an image lie side by side, each with zeros around it, so
// that a weight's sample for an output position is `offset` floats from that
// position, whatever the position is.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/panel_products.h"

namespace traingraph::cpu::direct {

/// Positions that tiles() computes at a time, at most; it writes whole blocks.
inline constexpr std::int64_t kBlock = 32;

/// Terms that are added up before their sum is added to the others'.
inline constexpr std::int64_t kTerms = 256;

/// Two registers of floats of AVX, a panel of others.
template <int kFloats>
inline constexpr int kRegisters = kFloats == 4 ? 4 : 2;

/// A product with a filter for each row.
struct Filters {
  const float* weights;
  std::int64_t row;  // from one filter to the next
};

/// z[i][p] = sum over k of weights[i][k] image[offsets[k] + p], or z += that,
/// for kRows rows and kRegisters * kFloats positions.
template <int kFloats, int kRows>
void tile(std::int64_t depth, const Filters& filters, const float* image,
          const std::int64_t* offsets, float* z, std::int64_t z_row,
          bool adds) {
  using Register = typename cpu::detail::Vectors<kFloats>::Register;
  constexpr int kColumns = kRegisters<kFloats>;
  Register sum[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sum[i][j] = Register{};
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const from = image + offsets[k];
    Register right[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      std::memcpy(&right[j], from + j * kFloats, sizeof(Register));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float left = filters.weights[i * filters.row + k];
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      float* const to = z + i * z_row + j * kFloats;
      if (adds) {
        Register before;
        std::memcpy(&before, to, sizeof(Register));
        sum[i][j] += before;
      }
      std::memcpy(to, &sum[i][j], sizeof(Register));
    }
  }
}

/// Calls f(number of rows as a constant, row) for tiles that cover `rows`.
template <int kMaxRows, class F>
void for_row_tiles(std::int64_t rows, const F& f) {
  std::int64_t i = 0;
  const auto each = [&]<int kRows>(std::integral_constant<int, kRows> n) {
    for (; i + kRows <= rows; i += kRows) f(n, i);
  };
  each(std::integral_constant<int, kMaxRows>());
  if constexpr (kMaxRows > 4) each(std::integral_constant<int, 4>());
  each(std::integral_constant<int, 2>());
  each(std::integral_constant<int, 1>());
}

/// Does as tile() for `rows` rows and all of `positions`; z is written up to
/// the next multiple of kBlock.
template <int kFloats>
void tiles(std::int64_t rows, std::int64_t positions, std::int64_t depth,
           const Filters& filters, const float* image,
           const std::int64_t* offsets, float* z, std::int64_t z_row) {
  constexpr std::int64_t kStep = kRegisters<kFloats> * kFloats;
  static_assert(kBlock % kStep == 0);
  for (std::int64_t k = 0; k < depth; k += kTerms) {
    const std::int64_t terms = std::min(kTerms, depth - k);
    for_row_tiles<cpu::detail::kTileRows<kFloats>>(
        rows,
        [&]<int kRows>(std::integral_constant<int, kRows>, std::int64_t i) {
          const Filters own{filters.weights + i * filters.row + k, filters.row};
          for (std::int64_t p = 0; p < positions; p += kStep) {
            tile<kFloats, kRows>(terms, own, image + p, offsets + k,
                                 z + i * z_row + p, z_row, k > 0);
          }
        });
  }
}

/// Where samples and gradients of some output rows are.
struct GradientRows {
  const float* image;  // padded, from the first output row's samples on
  std::int64_t image_row;
  const float* panels;  // gradients of kPanel channels, position by position
  std::int64_t panel;   // from one panel to the next
  std::int64_t rows, width;
};

/// to[i][c] += sum over positions of image[offsets[i] + p] gradient[p][c], for
/// kRows weights and the channels of kPanels panels.
template <int kFloats, int kRows, int kPanels>
void gradient_tile(const GradientRows& from, const std::int64_t* offsets,
                   float* to, std::int64_t to_row) {
  using Register = typename cpu::detail::Vectors<kFloats>::Register;
  constexpr int kParts = static_cast<int>(kPanel) / kFloats;
  constexpr int kColumns = kPanels * kParts;
  Register sum[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) sum[i][j] = Register{};
  }
  const float* gradient = from.panels;
  for (std::int64_t row = 0; row < from.rows; ++row) {
    const float* samples[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      samples[i] = from.image + row * from.image_row + offsets[i];
    }
    for (std::int64_t p = 0; p < from.width; ++p, gradient += kPanel) {
      Register right[kColumns];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        std::memcpy(&right[j],
                    gradient + j / kParts * from.panel + j % kParts * kFloats,
                    sizeof(Register));
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const float left = samples[i][p];
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      float* const at = to + i * to_row + j * kFloats;
      Register before;
      std::memcpy(&before, at, sizeof(Register));
      sum[i][j] += before;
      std::memcpy(at, &sum[i][j], sizeof(Register));
    }
  }
}

/// Covers all `depth` weights and `panels` panels of channels.
template <int kFloats>
void gradient_tiles(const GradientRows& from, std::int64_t depth,
                    std::int64_t panels, const std::int64_t* offsets, float* to,
                    std::int64_t to_row) {
  constexpr int kMaxPanels = kFloats == 16 ? 2 : 1;
  const auto run = [&]<int kPanels>(std::integral_constant<int, kPanels>,
                                    std::int64_t first) {
    GradientRows own = from;
    own.panels += first * from.panel;
    for_row_tiles<cpu::detail::kTileRows<kFloats>>(
        depth,
        [&]<int kRows>(std::integral_constant<int, kRows>, std::int64_t i) {
          gradient_tile<kFloats, kRows, kPanels>(
              own, offsets + i, to + i * to_row + first * kPanel, to_row);
        });
  };
  std::int64_t panel = 0;
  for (; panel + kMaxPanels <= panels; panel += kMaxPanels) {
    run(std::integral_constant<int, kMaxPanels>(), panel);
  }
  if (panel < panels) run(std::integral_constant<int, 1>(), panel);
}

}  // namespace traingraph::cpu::direct
