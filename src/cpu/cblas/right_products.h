// SPDX-License-Identifier: MIT
// Does a library multiply? Products of small whole numbers, which floats hold
// exactly, against a loop. There are libraries that compute nonsense on
// processors that came after them.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "cpu/cblas/sgemm.h"

namespace traingraph::cpu {

namespace detail {

/// This size is too large for loops of ours, and no multiple of any tile.
inline constexpr ProductSize kCheckedSize{
    .rows = 133, .columns = 121, .depth = 71};

/// The numbers have no periods: sums over whole ones would be the same in
/// another order.
inline std::vector<float> whole_numbers(std::int64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random() % 9) - 4;
  return values;
}

template <class Sgemm>
bool is_right(const Sgemm& multiply, bool transposes_x, bool transposes_y,
              bool adds) {
  const auto [rows, columns, depth] = kCheckedSize;
  const auto x = whole_numbers(rows * depth, 1);
  const auto y = whole_numbers(depth * columns, 2);
  const BlasOperand left{x.data(), transposes_x ? rows : depth, transposes_x};
  const BlasOperand right{y.data(), transposes_y ? depth : columns,
                          transposes_y};
  // What is not added to may hold anything; nothing but writing it undoes NaN.
  std::vector<float> z(static_cast<std::size_t>(rows * columns),
                       adds ? 3.0f : std::numeric_limits<float>::quiet_NaN());
  multiply(kCheckedSize, 2.0f, left, right, z.data(), columns, adds);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += *left.at(i, k).data * *right.at(k, j).data;
      }
      const float expected = 2 * sum + (adds ? 3.0f : 0.0f);
      if (z[static_cast<std::size_t>(i * columns + j)] != expected) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace detail

/// Is `multiply`, which is called as sgemm(), right for all kinds of operands?
template <class Sgemm>
bool multiplies_right(const Sgemm& multiply) {
  for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
    if (!detail::is_right(multiply, bits & 1, bits & 2, bits & 4)) return false;
  }
  return true;
}

}  // namespace traingraph::cpu
