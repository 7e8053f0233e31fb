// SPDX-License-Identifier: MIT
// Loops for small products against sums in double: every orientation, ragged
// sizes, bias, scale and ReLU.
#include "cpu/ops/matmul_small.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cpu/instruction_set.h"

namespace traingraph::cpu {
namespace {

using Floats = std::vector<float>;

struct Operands {
  Floats x, y, bias;
  SmallProduct product;

  Operands(const ProductSize& size, bool transposes_x, bool transposes_y,
           std::uint32_t seed)
      : product{.size = size,
                .x_row = transposes_x ? 1 : size.depth,
                .x_column = transposes_x ? size.rows : 1,
                .y_row = transposes_y ? 1 : size.columns,
                .y_column = transposes_y ? size.depth : 1} {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](Floats& values, std::int64_t count) {
      values.resize(count);
      for (float& value : values) value = normal(engine);
    };
    fill(x, size.rows * size.depth);
    fill(y, size.depth * size.columns);
    fill(bias, size.columns);
  }

  Floats run(bool has_bias) const {
    Floats z(product.size.rows * product.size.columns, NAN);
    Floats scratch(product.scratch(), NAN);
    const SmallProductArgs<float> args{x.data(), y.data(),
                                       has_bias ? bias.data() : nullptr,
                                       z.data(), scratch.data()};
    vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
      run_small_product<kFloats>(product, args);
    });
    return z;
  }

  void expect_right(bool has_bias) const {
    const Floats z = run(has_bias);
    for (std::int64_t i = 0; i < product.size.rows; ++i) {
      for (std::int64_t j = 0; j < product.size.columns; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < product.size.depth; ++k) {
          const double term =
              double(x[i * product.x_row + k * product.x_column]) *
              y[k * product.y_row + j * product.y_column];
          sum += term;
          size += std::abs(term);
        }
        double expected = sum * product.alpha + (has_bias ? bias[j] : 0);
        if (product.has_relu && expected < 0) expected *= product.slope;
        // Sums of 16 terms, then of these sums.
        ASSERT_NEAR(z[i * product.size.columns + j], expected,
                    2e-6 * (size + 1))
            << "at " << i << ", " << j;
      }
    }
  }
};

// One float32 sum of them would have lost 5 bits: all terms have one sign.
TEST(SmallProduct, LongSumsGoOnInDouble) {
  for (const ProductSize& size :
       {ProductSize{1, 1, 100'000}, {3, 5, 16'384}, {1, 64, 4096}}) {
    Operands operands(size, /*transposes_x=*/false, /*transposes_y=*/true, 7);
    for (float& x : operands.x) x = std::abs(x) + 1;
    for (float& y : operands.y) y = std::abs(y) + 1;
    const Floats z = operands.run(/*has_bias=*/false);
    for (std::int64_t i = 0; i < size.rows; ++i) {
      for (std::int64_t j = 0; j < size.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < size.depth; ++k) {
          sum += double{operands.x[i * size.depth + k]} *
                 operands.y[j * size.depth + k];
        }
        // A rounding of the result, and those of pieces, which average out.
        ASSERT_NEAR(z[i * size.columns + j], sum, 0x1p-23 * sum)
            << size.depth << " terms, at " << i << ", " << j;
      }
    }
  }
}

TEST(SmallProduct, IsRightForAllSizes) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(engine() % most) + 1;
  };
  for (int i = 0; i < 300; ++i) {
    const ProductSize size{pick(40), pick(70), pick(i % 10 == 0 ? 600 : 50)};
    Operands operands(size, engine() % 2 == 0, engine() % 2 == 0, engine());
    if (engine() % 2 == 0) operands.product.alpha = -0.7f;
    if (engine() % 2 == 0) {
      operands.product.has_relu = true;
      operands.product.slope = engine() % 2 == 0 ? 0.1f : 0.0f;
    }
    SCOPED_TRACE(::testing::Message()
                 << size.rows << " x " << size.columns << " x " << size.depth);
    operands.expect_right(engine() % 2 == 0);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(SmallProduct, ARowDoesNotDependOnTheOthers) {
  const Operands all({23, 19, 37}, false, true, 1);
  Operands one({1, 19, 37}, false, true, 1);
  one.y = all.y;
  one.bias = all.bias;
  const Floats expected = all.run(true);
  for (std::int64_t i = 0; i < 23; ++i) {
    one.x.assign(all.x.begin() + i * 37, all.x.begin() + (i + 1) * 37);
    EXPECT_EQ(one.run(true), Floats(expected.begin() + i * 19,
                                    expected.begin() + (i + 1) * 19));
  }
}

TEST(SmallProduct, PassesOnWhatIsNotFinite) {
  Operands operands({3, 17, 5}, false, false, 2);
  operands.product.has_relu = true;
  operands.x[0] = NAN;
  operands.x[5] = std::numeric_limits<float>::infinity();
  operands.bias.assign(17, 0.0f);
  const Floats z = operands.run(true);
  for (std::int64_t j = 0; j < 17; ++j) {
    EXPECT_TRUE(std::isnan(z[j])) << j;
    EXPECT_EQ(z[17 + j], operands.y[j] > 0 ? INFINITY : 0) << j;
    EXPECT_TRUE(std::isfinite(z[34 + j])) << j;
  }
}

}  // namespace
}  // namespace traingraph::cpu
