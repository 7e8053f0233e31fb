// SPDX-License-Identifier: MIT
// Products of small matrices in the innermost cache, for attention: oneDNN's
// primitives cost a dispatch each, and here come several for every 64 queries.
// The right operand is in panels of kPanel columns, so that it is read in
// order; what fills up the last panel and the last rows is computed along and
// never read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace traingraph::cpu {

inline constexpr std::int64_t kPanel = 16;
/// Rows come in multiples of this.
inline constexpr std::int64_t kRowStep = 8;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Element (i, k) is at data[i * row + k * column]: a matrix or its transpose.
struct LeftOperand {
  const float* data;
  std::int64_t row, column;
};

/// Element (k, j) is at data[j / kPanel * panel + k * kPanel + j % kPanel].
struct RightOperand {
  const float* data;
  std::int64_t panel;
};

struct ProductSize {
  std::int64_t rows, columns, depth;
};

namespace detail {

// A typedef: GCC 12 makes a float of an alias whose size depends on a template.
template <int kFloats>
struct Vectors {
  typedef float Register __attribute__((vector_size(kFloats * sizeof(float))));
};

/// Terms that are added up before their sum is added to the others': a sum of
/// n terms is as exact as one of n / kTerms.
inline constexpr std::int64_t kTerms = 16;

/// kRows x kPanel elements of the product, held in registers.
template <int kFloats, int kRows, bool kAdds>
inline void multiply_tile(std::int64_t depth, LeftOperand x, const float* y,
                          float* z, std::int64_t z_row) {
  using Register = typename Vectors<kFloats>::Register;
  static_assert(sizeof(Register) == kFloats * sizeof(float));
  constexpr int kColumns = kPanel / kFloats;
  Register total[kRows][kColumns], sum[kRows][kColumns];
  const auto for_each = [](auto&& f) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) f(i, j);
    }
  };
  for_each([&](int i, int j) { total[i][j] = Register{}; });
  for (std::int64_t begin = 0; begin < depth; begin += kTerms) {
    const std::int64_t end = std::min(begin + kTerms, depth);
    for_each([&](int i, int j) { sum[i][j] = Register{}; });
    for (std::int64_t k = begin; k < end; ++k) {
      Register right[kColumns];
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        std::memcpy(&right[j], y + k * kPanel + j * kFloats, sizeof(Register));
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const float left = x.data[i * x.row + k * x.column];
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
      }
    }
    for_each([&](int i, int j) { total[i][j] += sum[i][j]; });
  }
  for_each([&](int i, int j) {
    float* to = z + i * z_row + j * kFloats;
    if constexpr (kAdds) {
      Register before;
      std::memcpy(&before, to, sizeof(Register));
      total[i][j] += before;
    }
    std::memcpy(to, &total[i][j], sizeof(Register));
  });
}

template <int kFloats, bool kAdds>
void multiply(const ProductSize& size, const LeftOperand& x,
              const RightOperand& y, float* z, std::int64_t z_row) {
  // As many sums as a multiplication takes to end, and registers hold.
  constexpr int kRows = kFloats == 16 ? 8 : 4;
  static_assert(kRowStep % kRows == 0 && kPanel % kFloats == 0);
  for (std::int64_t j = 0; j < size.columns; j += kPanel) {
    const float* panel = y.data + j / kPanel * y.panel;
    for (std::int64_t i = 0; i < size.rows; i += kRows) {
      multiply_tile<kFloats, kRows, kAdds>(
          size.depth, {x.data + i * x.row, x.row, x.column}, panel,
          z + i * z_row + j, z_row);
    }
  }
}

}  // namespace detail

/// sums[j], for kPanel columns of two panels, is the product of the columns
/// x[k][j] and y[k][j]: to the bit what multiply() makes of them.
template <int kFloats>
void multiply_columns(std::int64_t depth, const float* x, const float* y,
                      float* sums) {
  using Register = typename detail::Vectors<kFloats>::Register;
  for (std::int64_t j = 0; j < kPanel; j += kFloats) {
    Register total{};
    for (std::int64_t begin = 0; begin < depth; begin += detail::kTerms) {
      const std::int64_t end = std::min(begin + detail::kTerms, depth);
      Register sum{};
      for (std::int64_t k = begin; k < end; ++k) {
        Register left, right;
        std::memcpy(&left, x + k * kPanel + j, sizeof(Register));
        std::memcpy(&right, y + k * kPanel + j, sizeof(Register));
        sum += left * right;
      }
      total += sum;
    }
    std::memcpy(sums + j, &total, sizeof(Register));
  }
}

/// z = x y, or z += x y when it `adds`. z is row-major, its rows `z_row` apart
/// and as long as whole panels; rows up to the next multiple of kRowStep are
/// written as well. The order of terms depends on nothing but the depth.
template <int kFloats>
void multiply(const ProductSize& size, const LeftOperand& x,
              const RightOperand& y, float* z, std::int64_t z_row, bool adds) {
  if (adds) {
    detail::multiply<kFloats, true>(size, x, y, z, z_row);
  } else {
    detail::multiply<kFloats, false>(size, x, y, z, z_row);
  }
}

}  // namespace traingraph::cpu
