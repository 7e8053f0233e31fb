// SPDX-License-Identifier: MIT
// Gather, scatter and embedding where the GPU cannot raise an error, and where
// the order in which it writes would show.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emulator/hardware_faults.h"
#include "metal/lowering_support.h"

namespace traingraph::testing {
namespace {

using Values = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// 32 bits of it are 1.
constexpr double kBeyond32Bits = 4294967297;

TEST(GatherLowering, MakesNaNOfPositionsOutside) {
  for (const double outside : {3.0, -1.0, kBeyond32Bits}) {
    const Operand table{{3, 2}, {1, 2, 3, 4, 5, 6}};
    const Operand rows{{3}, {2, outside, 0}, DataType::Int64};
    expect_alike(run_on_gpu(OpKind::Gather, AxisAttrs{0}, {table, rows}),
                 {5, 6, kNaN, kNaN, 1, 2}, 0);
    expect_alike(run_on_gpu(OpKind::Embedding, EmbeddingAttrs{}, {table, rows}),
                 {5, 6, kNaN, kNaN, 1, 2}, 0);
    const Operand elements{{3, 1}, {1, outside, 0}, DataType::Int64};
    expect_alike(run_on_gpu(OpKind::Gather, AxisAttrs{1}, {table, elements}),
                 {2, kNaN, 5}, 0);
  }
}

TEST(GatherLowering, MakesNaNOfSumsThatLackASource) {
  for (const double outside : {3.0, -1.0, kBeyond32Bits}) {
    const Operand source{{2, 2}, {1, 2, 3, 4}}, data{{3, 2}, {0}};
    const Operand rows{{2}, {2, outside}, DataType::Int64};
    const Values all(6, kNaN);
    for (auto type : {ReductionType::None, ReductionType::Sum}) {
      expect_alike(run_on_gpu(OpKind::Scatter, ScatterAttrs{0, type},
                              {source, rows, data}),
                   all, 0);
    }
    expect_alike(
        run_on_gpu(OpKind::EmbeddingGradient,
                   EmbeddingGradientAttrs{.shape = {3, 2}}, {source, rows}),
        all, 0);
    expect_alike(
        run_on_gpu(OpKind::ScatterGradient, AxisAttrs{0}, {data, rows}),
        Values(4, kNaN), 0);
  }
}

TEST(GatherLowering, KeepsTheLastOfManySources) {
  const Operand source{{6}, {1, 2, 3, 4, 5, 6}}, data{{3}, {7, 8, 9}};
  const Operand at{{6}, {0, 2, 0, 2, 0, 2}, DataType::Int32};
  EXPECT_EQ(run_on_gpu(OpKind::Scatter, ScatterAttrs{0}, {source, at, data}),
            (Values{5, 8, 6}));
  EXPECT_EQ(run_on_gpu(OpKind::ScatterGradient, AxisAttrs{0}, {data, at}),
            (Values{0, 0, 0, 0, 7, 9}));
}

/// Gathers columns, (5, 1) and the like, along each axis.
void expect_columns_gathered(const std::shared_ptr<DeviceContext>& gpu) {
  const Operand at{{3}, {4, 0, 4}, DataType::Int32};
  const Operand column{{5, 1}, {1, 2, 3, 4, 5}};
  expect_exact(gpu, OpKind::Gather, AxisAttrs{0}, {column, at});
  expect_exact(gpu, OpKind::Gather, AxisAttrs{0},
               {column, {{3, 1}, {4, 0, 2}, DataType::Int32}});
  expect_exact(gpu, OpKind::Gather, AxisAttrs{0},
               {{{5}, {1, 2, 3, 4, 5}}, {{2}, {4, 0}, DataType::Int32}});
  expect_exact(gpu, OpKind::Gather, AxisAttrs{1},
               {{{5, 1}, {1, 2, 3, 4, 5}}, {{5, 2}, {0}, DataType::Int32}});
  expect_exact(gpu, OpKind::Embedding, EmbeddingAttrs{}, {column, at});
  expect_exact(
      gpu, OpKind::Scatter, ScatterAttrs{0, ReductionType::None},
      {{{3, 1}, {7, 8, 9}}, {{3, 1}, {4, 0, 4}, DataType::Int32}, column});
}

TEST(GatherLowering, RepeatsSingleColumns) {
  const emulator::Imitation imitation({.ends_at_gathers_of_columns = true});
  expect_columns_gathered(
      gpu_with([](auto& limits) { limits.min_gather_columns = 2; }));
}

TEST(GatherLoweringDeathTest, OfSingleColumnsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const emulator::Imitation imitation(
            {.ends_at_gathers_of_columns = true});
        expect_columns_gathered(
            gpu_with([](auto& limits) { limits.min_gather_columns = 1; }));
      },
      "rank of updates");
}

}  // namespace
}  // namespace traingraph::testing
