// SPDX-License-Identifier: MIT
// Reductions that are cut into chunks or need more digits than float32 has, and
// layouts worked out by hand. The table of cases (ops/cases.h) has the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/reference.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

TEST(Reduce, LargeShapesInChunks) {
  using enum ReductionType;
  const struct {
    Shape shape, axes;
  } cases[] = {{{300001}, {}},
               {{2, 70000}, {1}},
               {{70000, 3}, {0}},
               {{5000, 300}, {0}},
               {{64, 20, 14, 14}, {0, 2, 3}},
               {{40, 3, 9000}, {0, 2}},
               {{100, 700}, {1}},
               {{7, 3, 513, 2}, {0, 2}}};
  for (const auto& [shape, axes] : cases) {
    const Values x = random_values(shape.num_elements(), 8);
    for (const auto type : {Sum, Mean, Max}) {
      SCOPED_TRACE(std::string(to_string(type)) + shape.to_string());
      const ReduceAttrs attrs{type, axes};
      OpRun run(OpKind::Reduce, attrs);
      run.input(shape, x).run();
      RefTensors inputs{{shape, x}};
      const RefTensor expected = evaluate(OpKind::Reduce, attrs, inputs).at(0);
      EXPECT_EQ(run.result_shape(), expected.shape);
      expect_near(run.result(), expected.data, 1e-6);
    }
  }
}

TEST(Reduce, SumsLoseNoSmallAddends) {
  // In float32, 1e8 + 1 is 1e8.
  Values x(200001, 1.0);
  x[0] = 1e8;
  x.back() = -1e8;
  OpRun run(OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {}});
  run.input({200001}, x).run();
  expect_near(run.result(), {199999}, 0);
}

TEST(Reduce, ExtremaPropagateNaN) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  OpRun max(OpKind::Reduce, ReduceAttrs{ReductionType::Max, {1}});
  max.input({3, 3}, {1, nan, 2, -infinity, -infinity, -infinity, 3, 2, nan});
  max.run();
  expect_near(max.result(), {nan, -infinity, nan}, 0);
  OpRun min(OpKind::Reduce, ReduceAttrs{ReductionType::Min, {0}});
  min.input({2, 2}, {1, nan, -4, 0}).run();
  expect_near(min.result(), {-4, nan}, 0);
}

TEST(Reduce, IndexOfTheFirstExtremum) {
  const Values x = {1, 5, 5, 0,  //
                    7, 2, 7, 2,  //
                    3, 3, 3, 3};
  OpRun rows(OpKind::Reduce, ReduceAttrs{ReductionType::ArgMax, {1}});
  rows.input({3, 4}, x).run();
  expect_near(rows.result(), {1, 0, 0}, 0);
  OpRun columns(OpKind::Reduce, ReduceAttrs{ReductionType::ArgMin, {0}});
  columns.input({3, 4}, x).run();
  expect_near(columns.result(), {0, 1, 2, 0}, 0);
  OpRun nans(OpKind::Reduce, ReduceAttrs{ReductionType::ArgMax, {0}});
  nans.input({4}, {1, std::nan(""), 9, std::nan("")}).run();
  expect_near(nans.result(), {1}, 0);
}

TEST(SquaredNorm, IsSummedInDouble) {
  const Values x = random_values(100003, 9);
  OpRun run(OpKind::SquaredNorm, NoAttrs{});
  run.input({100003}, x).run();
  const double expected = std::inner_product(x.begin(), x.end(), x.begin(), 0.);
  expect_near(run.result(), {expected}, 1e-7);
}

constexpr DataType kTypes[] = {DataType::Float32, DataType::Int32,
                               DataType::Int64, DataType::UInt8};

TEST(Transpose, KeepsBitsOfSmallIntegers) {
  // As floats these are denormal.
  OpRun run(OpKind::Transpose, TransposeAttrs{{1, 0}});
  run.input({2, 3}, {1, -1, 2147483647, 4, 5, -6}, DataType::Int32).run();
  expect_near(run.result(), {1, 4, -1, 5, 2147483647, -6}, 0);
}

TEST(Pad, HandComputedRows) {
  const auto padded = [](PaddingType type, DataType data_type) {
    const float value = type == PaddingType::Constant ? 9 : 0;
    OpRun run(OpKind::Pad, PadAttrs{type, {2}, {2}, value});
    run.input({3}, {1, 2, 3}, data_type).run();
    return run.result();
  };
  for (const DataType type : kTypes) {
    expect_near(padded(PaddingType::Zero, type), {0, 0, 1, 2, 3, 0, 0}, 0);
    expect_near(padded(PaddingType::Constant, type), {9, 9, 1, 2, 3, 9, 9}, 0);
    expect_near(padded(PaddingType::Reflect, type), {3, 2, 1, 2, 3, 2, 1}, 0);
    expect_near(padded(PaddingType::Symmetric, type), {2, 1, 1, 2, 3, 3, 2}, 0);
  }
}

TEST(Pad, ConstantsSaturateAsCastsDo) {
  const auto constant = [](float value, DataType type) {
    OpRun run(OpKind::Pad, PadAttrs{PaddingType::Constant, {1}, {0}, value});
    run.input({1}, {1}, type).run();
    return run.result()[0];
  };
  EXPECT_EQ(constant(300, DataType::Int8), 127);
  EXPECT_EQ(constant(-5, DataType::UInt8), 0);
  EXPECT_EQ(constant(3e9f, DataType::Int32), 2147483647);
  EXPECT_EQ(constant(NAN, DataType::Int32), 0);
}

TEST(Pad, TwoAxesReflect) {
  OpRun run(OpKind::Pad, PadAttrs{PaddingType::Reflect, {1, 0}, {0, 1}});
  run.input({2, 2}, {1, 2, 3, 4}).run();
  expect_near(run.result(), {3, 4, 3, 1, 2, 1, 3, 4, 3}, 0);
}

}  // namespace
}  // namespace traingraph::testing
