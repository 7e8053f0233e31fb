// SPDX-License-Identifier: MIT
// Products of small whole numbers, which floats hold exactly, against a loop.
// There are libraries that compute nonsense on processors that came after them.
#include <cstdint>
#include <vector>

#include "cpu/cblas/sgemm.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

/// Too large for loops of ours, and no multiple of any tile.
constexpr ProductSize kSize{.rows = 133, .columns = 121, .depth = 71};

std::vector<float> numbers(std::int64_t count, std::int64_t period) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % period - 2);
  }
  return values;
}

bool is_right(bool transposes_x, bool transposes_y, bool adds) {
  const auto x = numbers(kSize.rows * kSize.depth, 5);
  const auto y = numbers(kSize.depth * kSize.columns, 7);
  std::vector<float> z(static_cast<std::size_t>(kSize.rows * kSize.columns), 3);
  sgemm(kSize, 2,
        {x.data(), transposes_x ? kSize.rows : kSize.depth, transposes_x},
        {y.data(), transposes_y ? kSize.depth : kSize.columns, transposes_y},
        z.data(), kSize.columns, adds);
  for (std::int64_t i = 0; i < kSize.rows; ++i) {
    for (std::int64_t j = 0; j < kSize.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < kSize.depth; ++k) {
        const std::int64_t left =
            transposes_x ? k * kSize.rows + i : i * kSize.depth + k;
        const std::int64_t right =
            transposes_y ? j * kSize.depth + k : k * kSize.columns + j;
        sum += x[static_cast<std::size_t>(left)] *
               y[static_cast<std::size_t>(right)];
      }
      const float expected = 2 * sum + (adds ? 3.0f : 0.0f);
      if (z[static_cast<std::size_t>(i * kSize.columns + j)] != expected) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void require_right_products() {
  static const bool are_right = [] {
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      if (!is_right(bits & 1, bits & 2, bits & 4)) return false;
    }
    return true;
  }();
  if (are_right) return;
  throw UnsupportedError(ErrorInfo{
      .op = "matmul",
      .what = blas_name() + " computes wrong products on this processor",
      .hint = "Set another of its cores in the environment, for instance "
              "OPENBLAS_CORETYPE=ARMV8, or install another version."});
}

}  // namespace traingraph::cpu
