// SPDX-License-Identifier: MIT
// The reduce and layout kernels, element by element against index arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

using Index = std::vector<std::int64_t>;

/// Calls f(index, row-major position) for every index of `shape`.
void for_each_index(const Shape& shape,
                    const std::function<void(const Index&, std::int64_t)>& f) {
  Index index(shape.rank());
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    std::int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    f(index, i);
  }
}

std::int64_t position(const Shape& shape, const Index& index) {
  std::int64_t result = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    result = result * shape[axis] + index[axis];
  }
  return result;
}

Values iota(const Shape& shape) {
  Values values(shape.num_elements());
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// Reduce.

double reduced(ReductionType type, const Values& values) {
  double result = values[0];
  if (type == ReductionType::L1Norm) result = std::fabs(result);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double v = values[i];
    switch (type) {
      case ReductionType::Sum:
      case ReductionType::Mean:
        result += v;
        break;
      case ReductionType::L1Norm:
        result += std::fabs(v);
        break;
      case ReductionType::Max:
        result = std::max(result, v);
        break;
      case ReductionType::Min:
        result = std::min(result, v);
        break;
      case ReductionType::Any:
        result = result != 0 || v != 0;
        break;
      case ReductionType::All:
        result = result != 0 && v != 0;
        break;
      default:
        ADD_FAILURE();
    }
  }
  const double count = static_cast<double>(values.size());
  return type == ReductionType::Mean ? result / count : result;
}

void expect_reduce(ReductionType type, const Shape& shape, const Shape& axes,
                   const Values& x, DataType data_type = DataType::Float32) {
  SCOPED_TRACE(std::string(to_string(type)) + shape.to_string() +
               axes.to_string());
  Shape target = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_named = std::count(axes.begin(), axes.end(), axis) > 0;
    if (axes.empty() || is_named) target[axis] = 1;
  }
  std::vector<Values> groups(target.num_elements());
  for_each_index(shape, [&](Index index, std::int64_t i) {
    for (int axis = 0; axis < shape.rank(); ++axis) index[axis] %= target[axis];
    groups[position(target, index)].push_back(x[i]);
  });
  Values expected;
  for (const Values& group : groups) expected.push_back(reduced(type, group));
  OpRun run(OpKind::Reduce, ReduceAttrs{type, axes});
  run.input(shape, x, data_type).run();
  EXPECT_EQ(run.result_shape(), target);
  expect_near(run.result(), expected, 1e-6);
}

TEST(Reduce, EverySetOfAxes) {
  using enum ReductionType;
  const Shape shape{3, 4, 1, 5, 2};
  const Values x = random_values(shape.num_elements(), 7);
  for (int set = 0; set < 32; ++set) {
    Shape axes;
    for (int axis = 4; axis >= 0; --axis) {
      if (set >> axis & 1) axes.push_back(axis);
    }
    for (const auto type : {Sum, Mean, Max, Min, L1Norm}) {
      expect_reduce(type, shape, axes, x);
    }
    Values flags = x;
    for (double& v : flags) v = v > 1.6;
    expect_reduce(Any, shape, axes, flags, DataType::Boolean);
    for (double& v : flags) v = v == 0;
    expect_reduce(All, shape, axes, flags, DataType::Boolean);
  }
}

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
      expect_reduce(type, shape, axes, x);
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

TEST(Reduce, NoneCopies) {
  OpRun run(OpKind::Reduce, ReduceAttrs{ReductionType::None, {}});
  run.input({2, 2}, {1, 2, 3, 4}).run();
  expect_near(run.result(), {1, 2, 3, 4}, 0);
}

TEST(SquaredNorm, IsSummedInDouble) {
  const Values x = random_values(100003, 9);
  OpRun run(OpKind::SquaredNorm, NoAttrs{});
  run.input({100003}, x).run();
  const double expected = std::inner_product(x.begin(), x.end(), x.begin(), 0.);
  expect_near(run.result(), {expected}, 1e-7);
}

TEST(BroadcastTo, EveryPatternOfOnes) {
  const Shape to{2, 3, 4, 5};
  for (int set = 0; set < 16; ++set) {
    Shape from = to;
    for (int axis = 0; axis < 4; ++axis) {
      if (set >> axis & 1) from[axis] = 1;
    }
    const Values x = iota(from);
    Values expected(to.num_elements());
    for_each_index(to, [&](Index index, std::int64_t i) {
      for (int axis = 0; axis < 4; ++axis) index[axis] %= from[axis];
      expected[i] = x[position(from, index)];
    });
    OpRun run(OpKind::BroadcastTo, ShapeAttrs{to});
    run.input(from, x).run();
    expect_near(run.result(), expected, 0);
  }
  OpRun run(OpKind::BroadcastTo, ShapeAttrs{{2, 2}});
  run.input({1}, {3}).run();
  expect_near(run.result(), {3, 3, 3, 3}, 0);
}

// Layout.

constexpr DataType kTypes[] = {DataType::Float32, DataType::Int32,
                               DataType::Int64, DataType::UInt8};

TEST(Transpose, EveryPermutationAndElementSize) {
  const Shape shape{2, 3, 1, 5};
  const Values x = iota(shape);
  Index order{0, 1, 2, 3};
  do {
    Shape target;
    for (auto axis : order) target.push_back(shape[axis]);
    Values expected(x.size());
    for_each_index(target, [&](const Index& index, std::int64_t i) {
      Index source(4);
      for (int k = 0; k < 4; ++k) source[order[k]] = index[k];
      expected[i] = x[position(shape, source)];
    });
    for (const DataType type : kTypes) {
      OpRun run(OpKind::Transpose,
                TransposeAttrs{{order[0], order[1], order[2], order[3]}});
      run.input(shape, x, type).run();
      EXPECT_EQ(run.result_shape(), target);
      expect_near(run.result(), expected, 0);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Transpose, KeepsBitsOfSmallIntegers) {
  // As floats these are denormal.
  OpRun run(OpKind::Transpose, TransposeAttrs{{1, 0}});
  run.input({2, 3}, {1, -1, 2147483647, 4, 5, -6}, DataType::Int32).run();
  expect_near(run.result(), {1, 4, -1, 5, 2147483647, -6}, 0);
}

TEST(Concatenate, AndSplitAreInverse) {
  for (const DataType type : kTypes) {
    for (int axis = 0; axis < 3; ++axis) {
      const Shape whole{4, 4, 4};
      Shape first = whole, second = whole;
      first[axis] = 1, second[axis] = 3;
      const Values x = iota(whole);
      OpRun split(OpKind::Split, SplitAttrs{{1, 3}, axis});
      split.input(whole, x, type).run();
      EXPECT_EQ(split.result_shape(1), second);
      for_each_index(second, [&](Index index, std::int64_t i) {
        index[axis] += 1;
        EXPECT_EQ(split.result(1)[i], x[position(whole, index)]);
      });
      OpRun concatenate(OpKind::Concatenate, AxisAttrs{axis});
      concatenate.input(first, split.result(0), type);
      concatenate.input(second, split.result(1), type).run();
      expect_near(concatenate.result(), x, 0);
    }
  }
}

TEST(Slice, WithStridesAndItsGradient) {
  const Shape shape{4, 5, 6};
  const Values x = iota(shape);
  const SliceAttrs attrs{
      .start = {1, 0, 2}, .end = {4, 5, 6}, .stride = {2, 3, 1}};
  const Shape window{2, 2, 4};
  Values expected(16), scattered(shape.num_elements());
  for_each_index(window, [&](Index index, std::int64_t i) {
    for (int k = 0; k < 3; ++k) {
      index[k] = attrs.start[k] + index[k] * attrs.stride[k];
    }
    expected[i] = x[position(shape, index)];
    scattered[position(shape, index)] = static_cast<double>(i) + 1;
  });
  for (const DataType type : kTypes) {
    OpRun run(OpKind::Slice, attrs);
    run.input(shape, x, type).run();
    EXPECT_EQ(run.result_shape(), window);
    expect_near(run.result(), expected, 0);
    OpRun gradient(
        OpKind::SliceGradient,
        SliceGradientAttrs{attrs.start, attrs.end, attrs.stride, shape});
    gradient.input(window, iota(window), type).run();
    expect_near(gradient.result(), scattered, 0);
  }
  OpRun plain(OpKind::Slice, SliceAttrs{{1, 1}, {2, 3}, {}});
  plain.input({2, 3}, {1, 2, 3, 4, 5, 6}).run();
  expect_near(plain.result(), {5, 6}, 0);
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

TEST(PadGradient, IsTheAdjointOfPad) {
  const Shape shape{3, 4, 5}, before{2, 0, 4}, after{1, 3, 4};
  const Shape target{6, 7, 13};
  const Values x = random_values(60, 1);
  const Values g = random_values(target.num_elements(), 2);
  for (const auto type : {PaddingType::Zero, PaddingType::Constant,
                          PaddingType::Reflect, PaddingType::Symmetric}) {
    SCOPED_TRACE(to_string(type));
    OpRun pad(OpKind::Pad, PadAttrs{type, before, after});
    pad.input(shape, x).run();
    OpRun gradient(OpKind::PadGradient, PadAttrs{type, before, after});
    gradient.input(target, g).run();
    const Values y = pad.result(), dx = gradient.result();
    ASSERT_EQ(dx.size(), x.size());
    // Exact: all products are multiples of 2^-20.
    EXPECT_EQ(std::inner_product(y.begin(), y.end(), g.begin(), 0.0),
              std::inner_product(x.begin(), x.end(), dx.begin(), 0.0));
  }
}

TEST(Reshape, KeepsTheElements) {
  OpRun run(OpKind::Reshape, ShapeAttrs{{3, -1}});
  run.input({2, 3}, {1, 2, 3, 4, 5, 6}).run();
  EXPECT_EQ(run.result_shape(), (Shape{3, 2}));
  expect_near(run.result(), {1, 2, 3, 4, 5, 6}, 0);
}

}  // namespace
}  // namespace traingraph::testing
