// SPDX-License-Identifier: MIT
// Matrix products on a GPU that gets large ones wrong, and rows that were only
// broadcast: without the limits the fault shows, with them nothing does.
#include <gtest/gtest.h>

#include <random>

#include "emulator/hardware_faults.h"
#include "metal/lowering_support.h"

namespace traingraph::testing {
namespace {

using emulator::Imitation;
using metal::GpuLimits;

constexpr std::int64_t kMax = 5;

void tile(GpuLimits& limits) {
  limits.max_matmul_rows = kMax;
  limits.max_matmul_extent = kMax - 1;
}

Operand operand(const Shape& shape, int period) {
  return {shape, whole_numbers(shape.num_elements(), period)};
}

TEST(HardwareProducts, AreWrongWhenTheyAreLarge) {
  const auto gpu = gpu_with([](auto&) {});
  const std::vector<Operand> operands{operand({9, 2}, 7), operand({2, 3}, 9)};
  expect_exact(gpu, OpKind::MatMul, MatMulAttrs{}, operands);
  const Imitation imitation({.max_product_extent = kMax});
  EXPECT_NE(
      run_op_in(gpu, OpKind::MatMul, MatMulAttrs{}, operands),
      run_op_on(DeviceType::CPU, OpKind::MatMul, MatMulAttrs{}, operands));
}

TEST(HardwareProducts, AreTiledInAllExtents) {
  const auto gpu = gpu_with(tile);
  const Imitation imitation({.max_product_extent = kMax});
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto pick = [&](int most) {
    return static_cast<std::int64_t>(1 + random() % most);
  };
  for (int i = 0; i < 60; ++i) {
    const std::int64_t rows = pick(12), inner = pick(12), columns = pick(12);
    const MatMulAttrs attrs{1, random() % 2 == 0, random() % 2 == 0};
    Shape x = attrs.transposes_x ? Shape{inner, rows} : Shape{rows, inner};
    Shape y =
        attrs.transposes_y ? Shape{columns, inner} : Shape{inner, columns};
    const std::int64_t matrices = pick(9);
    if (i % 3 != 0) x = {i % 3 == 2 ? 1 : matrices, x[0], x[1]};
    if (i % 5 != 0) y = {matrices, y[0], y[1]};
    SCOPED_TRACE(x.to_string() + " times " + y.to_string() + " transposed " +
                 std::to_string(attrs.transposes_x) +
                 std::to_string(attrs.transposes_y) + " seed " +
                 std::to_string(seed));
    expect_exact(gpu, OpKind::MatMul, attrs, {operand(x, 7), operand(y, 9)});
  }
}

TEST(HardwareProducts, AreTiledAtTheRealBorder) {
  constexpr std::int64_t kBorder = GpuLimits{}.max_matmul_rows;
  const auto gpu = gpu_with([](GpuLimits& limits) { limits = {}; });
  const Imitation imitation({.max_product_extent = kBorder});
  for (const std::int64_t extent : {kBorder - 1, kBorder, kBorder + 1}) {
    expect_exact(gpu, OpKind::MatMul, MatMulAttrs{},
                 {operand({extent, 2}, 7), operand({2, 3}, 9)});
    expect_exact(gpu, OpKind::MatMul, MatMulAttrs{},
                 {operand({3, 2}, 7), operand({2, extent}, 9)});
    expect_exact(gpu, OpKind::MatMul, MatMulAttrs{1, true, true},
                 {operand({2, extent}, 7), operand({3, 2}, 9)});
  }
}

/// x of one row, broadcast to many, times y.
std::vector<float> product_of_broadcast(
    const std::shared_ptr<DeviceContext>& device) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{1, 2}}, "x");
  const ValueId y = program.add_value(Role::Input, {{2, 3}}, "y");
  const std::vector<ValueId> rows =
      program.append(OpKind::BroadcastTo, ShapeAttrs{{40, 2}}, {x}, "rows");
  const std::vector<ValueId> kept =
      program.append(OpKind::MatMul, MatMulAttrs{}, {rows[0], y}, "product");
  ProgramRun run(program, kept, device);
  run.set<float>(x, {1, 2});
  run.set<float>(y, {1, 2, 3, 4, 5, 6});
  run.run();
  return run.get(kept[0]);
}

/// (2, 1, 3, 1, 4), flattened by a node of its own, times (4, 5).
std::vector<float> product_of_reshape(
    const std::shared_ptr<DeviceContext>& device) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{2, 1, 3, 1, 4}}, "x");
  const ValueId y = program.add_value(Role::Input, {{4, 5}}, "y");
  const ValueId rows =
      program.append_one(OpKind::Reshape, ShapeAttrs{{6, 4}}, {x});
  const ValueId product =
      program.append_one(OpKind::MatMul, MatMulAttrs{}, {rows, y});
  const std::vector<ValueId> kept{program.append_one(
      OpKind::Reshape, ShapeAttrs{{2, 1, 3, 1, 5}}, {product})};
  ProgramRun run(program, kept, device);
  run.set<float>(x, std::vector<float>(24, 2));
  run.set<float>(y, std::vector<float>(20, 3));
  run.run();
  return run.get(kept[0]);
}

std::shared_ptr<DeviceContext> gpu_that_folds(bool writes) {
  return gpu_with([=](auto& limits) { limits.writes_reshapes = writes; });
}

TEST(HardwareProducts, MayBeBetweenReshapesWithAxesOf1) {
  const Imitation imitation({.ends_at_products_of_reshapes = true});
  const auto gpu = gpu_that_folds(true);
  EXPECT_EQ(product_of_reshape(gpu), std::vector<float>(30, 24));
  // Folded to a product of matrices by the lowering.
  for (const bool transposes : {false, true}) {
    const Shape x = transposes ? Shape{2, 1, 1, 4, 3} : Shape{2, 1, 1, 3, 4};
    expect_exact(gpu, OpKind::MatMul, MatMulAttrs{1, transposes, false},
                 {operand(x, 7), operand({4, 5}, 9)});
    expect_exact(gpu, OpKind::MatMul, MatMulAttrs{1, transposes, false},
                 {operand(x, 7), operand({1, 1, 4, 5}, 9)});
  }
}

TEST(HardwareProducts, OfTransposedBFloat16AreWrittenDown) {
  const Imitation imitation({.ends_at_turned_bfloat16 = true});
  const auto gpu =
      gpu_with([](auto& limits) { limits.writes_turned_bfloat16 = true; });
  for (int i = 0; i < 4; ++i) {
    Operand x = operand({4, 4}, 5), y = operand({4, 4}, 3);
    x.type = y.type = DataType::BFloat16;
    expect_exact(gpu, OpKind::MatMul,
                 MatMulAttrs{1, (i & 1) != 0, (i & 2) != 0}, {x, y});
  }
}

void multiply_turned_bfloat16() {
  const auto gpu =
      gpu_with([](auto& limits) { limits.writes_turned_bfloat16 = false; });
  const Operand x{{2, 2}, {1}, DataType::BFloat16};
  run_op_in(gpu, OpKind::MatMul, MatMulAttrs{1, false, true}, {x, x});
}

TEST(HardwareProductsDeathTest, EndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const Imitation imitation({.ends_at_products_of_reshapes = true});
        product_of_reshape(gpu_that_folds(false));
      },
      "pass manager failed");
  EXPECT_DEATH(
      {
        const Imitation imitation({.ends_at_turned_bfloat16 = true});
        multiply_turned_bfloat16();
      },
      "transposed bfloat16");
}

TEST(HardwareProducts, HaveAllRowsOfABroadcast) {
  std::vector<float> expected;
  for (int row = 0; row < 40; ++row) {
    expected.insert(expected.end(), {9, 12, 15});
  }
  const Imitation imitation({.loses_broadcast_rows = true});
  const auto run = [](bool writes) {
    return product_of_broadcast(
        gpu_with([&](auto& limits) { limits.writes_broadcasts = writes; }));
  };
  EXPECT_NE(run(false), expected);
  EXPECT_EQ(run(true), expected);
}

}  // namespace
}  // namespace traingraph::testing
