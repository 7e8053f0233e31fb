// SPDX-License-Identifier: MIT
// A CBLAS that computes something else is found out, whatever it forgets.
#include "cpu/cblas/right_products.h"

#include <gtest/gtest.h>

#include <cmath>

namespace traingraph::cpu {
namespace {

/// Does what sgemm() does, by the definition.
void multiply(const ProductSize& size, float alpha, const BlasOperand& x,
              const BlasOperand& y, float* z, std::int64_t z_row, bool adds) {
  for (std::int64_t i = 0; i < size.rows; ++i) {
    for (std::int64_t j = 0; j < size.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < size.depth; ++k) {
        sum += *x.at(i, k).data * *y.at(k, j).data;
      }
      float& to = z[i * z_row + j];
      to = alpha * sum + (adds ? to : 0.0f);
    }
  }
}

/// multiply() of arguments that `change` has changed.
template <class Change>
bool is_right_with(const Change& change) {
  return multiplies_right([&](ProductSize size, float alpha, BlasOperand x,
                              BlasOperand y, float* z, std::int64_t z_row,
                              bool adds) {
    change(size, alpha, x, y, adds);
    multiply(size, alpha, x, y, z, z_row, adds);
  });
}

TEST(RightProducts, OfALibraryThatMultiplies) {
  EXPECT_TRUE(multiplies_right(multiply));
}

TEST(RightProducts, AreMissedByOneThatForgets) {
  using Size = ProductSize&;
  using Operand = BlasOperand&;
  EXPECT_FALSE(is_right_with(
      [](Size, float& alpha, Operand, Operand, bool&) { alpha = 1; }));
  EXPECT_FALSE(is_right_with(
      [](Size, float&, Operand, Operand, bool& adds) { adds = false; }));
  EXPECT_FALSE(is_right_with(
      [](Size, float&, Operand, Operand, bool& adds) { adds = true; }));
  EXPECT_FALSE(is_right_with([](Size, float&, Operand x, Operand, bool&) {
    if (x.is_transposed) x = {x.data, 71, false};
  }));
  EXPECT_FALSE(is_right_with([](Size, float&, Operand, Operand y, bool&) {
    if (y.is_transposed) y = {y.data, 121, false};
  }));
  // What is left over by tiles of 8 rows, 16 columns, and 4 terms.
  EXPECT_FALSE(is_right_with([](Size size, float&, Operand, Operand, bool&) {
    size.rows -= size.rows % 8;
  }));
  EXPECT_FALSE(is_right_with([](Size size, float&, Operand, Operand, bool&) {
    size.columns -= size.columns % 16;
  }));
  EXPECT_FALSE(is_right_with([](Size size, float&, Operand, Operand, bool&) {
    size.depth -= size.depth % 4;
  }));
}

TEST(RightProducts, AreMissedByOneThatDoesNothing) {
  const auto nothing = [](auto&&...) {};
  EXPECT_FALSE(multiplies_right(nothing));
}

// Where nothing is added, z is memory that holds anything.
TEST(RightProducts, DoNotReadWhatTheyReplace) {
  EXPECT_FALSE(multiplies_right([](const ProductSize& size, float alpha,
                                   const BlasOperand& x, const BlasOperand& y,
                                   float* z, std::int64_t z_row, bool adds) {
    const std::int64_t count = adds ? 0 : size.rows * z_row;
    for (std::int64_t i = 0; i < count; ++i) z[i] *= 0;
    multiply(size, alpha, x, y, z, z_row, /*adds=*/true);
  }));
}

TEST(RightProducts, AreNoNumbersThatAreNone) {
  EXPECT_FALSE(multiplies_right([](const ProductSize& size, float alpha,
                                   const BlasOperand& x, const BlasOperand& y,
                                   float* z, std::int64_t z_row, bool adds) {
    multiply(size, alpha, x, y, z, z_row, adds);
    z[(size.rows - 1) * z_row + size.columns - 1] = NAN;
  }));
}

}  // namespace
}  // namespace traingraph::cpu
