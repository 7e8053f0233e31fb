// SPDX-License-Identifier: MIT
// Products with more terms, matrices and axes than every system gets right;
// the emulator gets them wrong too.
#include <gtest/gtest.h>

#include "metal/gpu_limits.h"
#include "metal/lowering_support.h"

namespace traingraph::testing {
namespace {

constexpr std::int64_t kTooMany = metal::GpuLimits{}.max_matmul_extent + 101;

// Whole numbers, so that float32 sums are exact; periods that share no factor.
const std::vector<double> kX{-3, -2, -1, 0, 1, 2, 3}, kY{2, -1, 0, 1, 3};

double x_at(std::int64_t i) { return kX[i % 7]; }
double y_at(std::int64_t i) { return kY[i % 5]; }

/// (rows, inner) times (inner, columns), stored transposed or not.
std::vector<double> product(const MatMulAttrs& attrs, std::int64_t rows,
                            std::int64_t inner, std::int64_t columns) {
  std::vector<double> z;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum += x_at(attrs.transposes_x ? k * rows + i : i * inner + k) *
               y_at(attrs.transposes_y ? j * inner + k : k * columns + j);
      }
      z.push_back(sum);
    }
  }
  return z;
}

class LongProducts : public ::testing::TestWithParam<int> {};

TEST_P(LongProducts, AddUpAllTerms) {
  constexpr std::int64_t kRows = 2, kColumns = 3;
  const MatMulAttrs attrs{1, (GetParam() & 1) != 0, (GetParam() & 2) != 0};
  const Shape x =
      attrs.transposes_x ? Shape{kTooMany, kRows} : Shape{kRows, kTooMany};
  const Shape y = attrs.transposes_y ? Shape{kColumns, kTooMany}
                                     : Shape{kTooMany, kColumns};
  EXPECT_EQ(run_on_gpu(OpKind::MatMul, attrs, {{x, kX}, {y, kY}}),
            product(attrs, kRows, kTooMany, kColumns));
}

INSTANTIATE_TEST_SUITE_P(Orientations, LongProducts, ::testing::Range(0, 4));

TEST(ManyMatrices, AreAllMultiplied) {
  const auto z = run_on_gpu(OpKind::MatMul, MatMulAttrs{},
                            {{{kTooMany, 1, 2}, kX}, {{kTooMany, 2, 1}, kY}});
  for (std::int64_t i = 0; i < kTooMany; ++i) {
    ASSERT_EQ(z[i],
              x_at(2 * i) * y_at(2 * i) + x_at(2 * i + 1) * y_at(2 * i + 1))
        << "matrix " << i;
  }
}

TEST(ManyMatrices, ShareTheSecond) {
  const auto z = run_on_gpu(OpKind::MatMul, MatMulAttrs{1, true, false},
                            {{{kTooMany, 1, 2}, kX}, {{1, 1}, {3}}});
  ASSERT_EQ(z.size(), static_cast<std::size_t>(2 * kTooMany));
  for (std::int64_t i = 0; i < 2 * kTooMany; ++i) {
    ASSERT_EQ(z[i], 3 * x_at(i)) << "element " << i;
  }
}

TEST(ManyMatrices, BroadcastToTooMany) {
  constexpr std::int64_t kM = 200, kN = kTooMany / kM + 1;
  const auto z = run_on_gpu(OpKind::MatMul, MatMulAttrs{},
                            {{{kM, 1, 1, 1}, kX}, {{kN, 1, 1}, kY}});
  for (std::int64_t i = 0; i < kM * kN; ++i) {
    ASSERT_EQ(z[i], x_at(i / kN) * y_at(i % kN)) << "matrix " << i;
  }
}

TEST(MatricesOfRankEight, BroadcastOnBothSides) {
  const Shape x{2, 1, 2, 1, 2, 1, 1, 3}, y{1, 2, 1, 2, 1, 2, 3, 1};
  const auto z = run_on_gpu(OpKind::MatMul, MatMulAttrs{}, {{x, kX}, {y, kY}});
  ASSERT_EQ(z.size(), 64u);
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::int64_t a = (i >> 3 & 4) + (i >> 2 & 2) + (i >> 1 & 1);
    const std::int64_t c = (i >> 2 & 4) + (i >> 1 & 2) + (i & 1);
    double sum = 0;
    for (int k = 0; k < 3; ++k) sum += x_at(3 * a + k) * y_at(3 * c + k);
    EXPECT_EQ(z[i], sum) << "matrix " << i;
  }
}

}  // namespace
}  // namespace traingraph::testing
