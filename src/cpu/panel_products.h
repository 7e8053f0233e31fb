// SPDX-License-Identifier: MIT
// Products of small matrices in the innermost caches, where a primitive of
// oneDNN costs more in dispatch than it computes. The right operand is read in
// panels of kPanel columns. A tile of rows and one panel is added up in
// registers; the order of its terms depends on nothing but the depth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace traingraph::cpu {

inline constexpr std::int64_t kPanel = 16;
/// Rows of multiply() come in multiples of this.
inline constexpr std::int64_t kRowStep = 8;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Element (i, k) is at data[i * row + k * column]: a matrix or its transpose.
template <class T>
struct LeftOperand {
  const T* data;
  std::int64_t row, column;
};
template <class T>
LeftOperand(const T*, std::int64_t, std::int64_t) -> LeftOperand<T>;

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
/// Float32 adds up so many terms; longer sums go on in double.
inline constexpr std::int64_t kMaxTerms = 512;

/// kRows x kPanel sums of `depth` terms, held in registers. Row k of the panel
/// is at y + k * y_row. Ends with store(i, j, register): floats j * kFloats and
/// on of row i.
template <int kFloats, int kRows, class T, class Store>
inline void add_terms(std::int64_t depth, LeftOperand<T> x, const float* y,
                      std::int64_t y_row, const Store& store) {
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
        std::memcpy(&right[j], y + k * y_row + j * kFloats, sizeof(Register));
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
  for_each([&](int i, int j) { store(i, j, total[i][j]); });
}

/// The sums of several pieces of the depth, one register after the other.
template <int kFloats, int kRegisters>
class WideSums {
 public:
  using Register = typename Vectors<kFloats>::Register;

  void add(int i, const Register& piece) {
    float floats[kFloats];
    std::memcpy(floats, &piece, sizeof(Register));
#pragma omp simd
    for (int lane = 0; lane < kFloats; ++lane) sums_[i][lane] += floats[lane];
  }
  void round(int i, Register* to) const {
    float floats[kFloats];
#pragma omp simd
    for (int lane = 0; lane < kFloats; ++lane) {
      floats[lane] = static_cast<float>(sums_[i][lane]);
    }
    std::memcpy(to, floats, sizeof(Register));
  }

 private:
  double sums_[kRegisters][kFloats] = {};
};

/// Computes a product of any depth.
template <int kFloats, int kRows, class T, class Store>
inline void multiply_tile(std::int64_t depth, LeftOperand<T> x, const float* y,
                          std::int64_t y_row, const Store& store) {
  if (depth <= kMaxTerms) {
    return add_terms<kFloats, kRows>(depth, x, y, y_row, store);
  }
  constexpr int kColumns = kPanel / kFloats;
  WideSums<kFloats, kRows * kColumns> sums;
  for (std::int64_t begin = 0; begin < depth; begin += kMaxTerms) {
    add_terms<kFloats, kRows>(
        std::min(kMaxTerms, depth - begin),
        LeftOperand{x.data + begin * x.column, x.row, x.column},
        y + begin * y_row, y_row, [&](int i, int j, const auto& piece) {
          sums.add(i * kColumns + j, piece);
        });
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      typename Vectors<kFloats>::Register rounded;
      sums.round(i * kColumns + j, &rounded);
      store(i, j, rounded);
    }
  }
}

/// There are as many sums as a multiplication takes cycles to end, and
/// registers hold.
template <int kFloats>
inline constexpr int kTileRows = kFloats == 16 ? 8 : 4;

template <int kFloats, bool kAdds>
void multiply(const ProductSize& size, const LeftOperand<float>& x,
              const RightOperand& y, float* z, std::int64_t z_row) {
  using Register = typename Vectors<kFloats>::Register;
  constexpr int kRows = kTileRows<kFloats>;
  static_assert(kRowStep % kRows == 0 && kPanel % kFloats == 0);
  for (std::int64_t j = 0; j < size.columns; j += kPanel) {
    const float* panel = y.data + j / kPanel * y.panel;
    for (std::int64_t i = 0; i < size.rows; i += kRows) {
      float* const tile = z + i * z_row + j;
      multiply_tile<kFloats, kRows>(
          size.depth, LeftOperand{x.data + i * x.row, x.row, x.column}, panel,
          kPanel, [=](int row, int column, const Register& total) {
            float* to = tile + row * z_row + column * kFloats;
            Register sum = total;
            if constexpr (kAdds) {
              Register before;
              std::memcpy(&before, to, sizeof(Register));
              sum += before;
            }
            std::memcpy(to, &sum, sizeof(Register));
          });
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
    const auto add_terms = [=](std::int64_t first, std::int64_t last,
                               Register& total) {
      total = Register{};
      for (std::int64_t begin = first; begin < last; begin += detail::kTerms) {
        const std::int64_t end = std::min(begin + detail::kTerms, last);
        Register sum{};
        for (std::int64_t k = begin; k < end; ++k) {
          Register left, right;
          std::memcpy(&left, x + k * kPanel + j, sizeof(Register));
          std::memcpy(&right, y + k * kPanel + j, sizeof(Register));
          sum += left * right;
        }
        total += sum;
      }
    };
    Register total;
    if (depth <= detail::kMaxTerms) {
      add_terms(0, depth, total);
    } else {
      detail::WideSums<kFloats, 1> wide;
      for (std::int64_t k = 0; k < depth; k += detail::kMaxTerms) {
        add_terms(k, std::min(k + detail::kMaxTerms, depth), total);
        wide.add(0, total);
      }
      wide.round(0, &total);
    }
    std::memcpy(sums + j, &total, sizeof(Register));
  }
}

/// z = x y, or z += x y when it `adds`. z is row-major, its rows `z_row` apart
/// and as long as whole panels; rows up to the next multiple of kRowStep are
/// written as well.
template <int kFloats>
void multiply(const ProductSize& size, const LeftOperand<float>& x,
              const RightOperand& y, float* z, std::int64_t z_row, bool adds) {
  if (adds) {
    detail::multiply<kFloats, true>(size, x, y, z, z_row);
  } else {
    detail::multiply<kFloats, false>(size, x, y, z, z_row);
  }
}

/// The transpose of up to kPanel rows, `row` elements from one to the next, as
/// one panel of `depth` rows; the rest of it is zeros.
template <class T>
inline void pack_transposed_panel(const T* from, std::int64_t row,
                                  std::int64_t rows, std::int64_t depth,
                                  float* to) {
  if (rows < kPanel) std::fill(to, to + kPanel * depth, 0.0f);
  // Blocks of 4 x 4, for which all processors have registers and shuffles.
  using Register = detail::Vectors<4>::Register;
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    std::int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      Register r[4];
#pragma GCC unroll 4
      for (int n = 0; n < 4; ++n) {
        const T* x = from + (i + n) * row + k;
        const float four[]{x[0], x[1], x[2], x[3]};
        std::memcpy(&r[n], four, sizeof(Register));
      }
      const auto a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
      const auto b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
      const auto c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
      const auto d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
      r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
      r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
      r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
      r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
#pragma GCC unroll 4
      for (int n = 0; n < 4; ++n) {
        std::memcpy(to + (k + n) * kPanel + i, &r[n], sizeof(Register));
      }
    }
    for (; k < depth; ++k) {
      for (int n = 0; n < 4; ++n) {
        to[k * kPanel + i + n] = from[(i + n) * row + k];
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      to[k * kPanel + i] = from[i * row + k];
    }
  }
}

}  // namespace traingraph::cpu
