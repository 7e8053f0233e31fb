// SPDX-License-Identifier: MIT
// Cases of the ops that move elements. All of them are exact; those that take
// any data type run with several.
#include <algorithm>
#include <numeric>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

constexpr DataType kTypes[] = {DataType::Float32, DataType::Int32,
                               DataType::Int64, DataType::Boolean,
                               DataType::Int8};

/// Adds the case with the gradients of all inputs, then with other data types.
void add(OpCases& cases, OpKind op, const Attributes& attrs,
         const std::vector<Shape>& shapes, bool takes_any_type = true) {
  for (DataType type : kTypes) {
    const bool is_float = type == DataType::Float32;
    if (!is_float && !takes_any_type) break;
    OpCase op_case{.op = op, .attrs = attrs, .tolerance = 0};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      op_case.inputs.push_back(
          {shapes[i], is_float ? uniform() : integers(0, 1), type});
      if (is_float) op_case.gradients.push_back(static_cast<int>(i));
    }
    cases.push_back(op_case);
  }
}

void add_reshapes(OpCases& cases) {
  const auto reshape = [&](const Shape& x, const Shape& to) {
    add(cases, OpKind::Reshape, ShapeAttrs{to}, {x});
  };
  reshape({1}, {1, 1, 1});
  reshape({12}, {3, 4});
  reshape({2, 3, 5}, {5, -1});
  reshape({2, 3, 5, 7}, {2, -1});
  reshape({3, 1, 7}, {21});
  reshape({2, 1, 3, 1, 4}, {-1, 4});
  reshape({6, 5}, {6, 5});
}

void add_transposes(OpCases& cases, Random& random) {
  const auto transpose = [&](const Shape& x, const Shape& axes) {
    add(cases, OpKind::Transpose, TransposeAttrs{axes}, {x},
        x.num_elements() < 500);
  };
  transpose({7}, {0});
  for (Shape axes : {Shape{0, 1, 2}, Shape{0, 2, 1}, Shape{1, 0, 2},
                     Shape{1, 2, 0}, Shape{2, 0, 1}, Shape{2, 1, 0}}) {
    transpose({2, 3, 5}, axes);
    transpose({4, 1, 3}, axes);
  }
  transpose({3, 7}, {1, 0});
  std::vector<std::int64_t> all{0, 1, 2, 3};
  do {
    transpose({2, 3, 1, 5}, Shape(all));
  } while (std::ranges::next_permutation(all).found);
  transpose({2, 3, 5, 7}, {0, 2, 3, 1});
  transpose({2, 3, 5, 7}, {0, 3, 1, 2});
  transpose({2, 1, 3, 1, 4}, {4, 2, 0, 3, 1});
  transpose({2, 1, 2, 3, 1, 2, 2, 2}, {7, 5, 3, 1, 6, 4, 2, 0});
  transpose({65, 129}, {1, 0});
  transpose({3, 33, 65}, {0, 2, 1});
  for (int i = 0; i < 8; ++i) {
    const int rank = 2 + i % 4;
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    transpose(random_shape(random, rank, 5), Shape(order));
  }
}

void add_joins(OpCases& cases, Random& random) {
  const auto join = [&](const Shape& x, int axis, const Shape& lengths) {
    std::vector<Shape> parts;
    for (std::int64_t length : lengths) {
      parts.push_back(x);
      parts.back()[axis] = length;
    }
    Shape whole = x;
    whole[axis] =
        std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    add(cases, OpKind::Concatenate, AxisAttrs{axis}, parts);
    add(cases, OpKind::Split, SplitAttrs{lengths, axis}, {whole});
  };
  join({1}, 0, {3});
  join({1}, 0, {3, 1, 4});
  join({2, 1}, 1, {3, 1, 2});
  join({1, 3}, 0, {2, 5});
  join({2, 1, 5}, 1, {1, 1, 1, 1});
  join({2, 3, 1}, 2, {7, 2});
  join({2, 1, 3, 3}, 1, {4, 3});
  join({2, 1, 3, 1, 2}, 3, {2, 3});
  join({1, 31, 67}, 0, {3, 2});
  for (int axis = 0; axis < kMaxRank; ++axis) {
    join({2, 1, 2, 3, 1, 2, 1, 2}, axis, {1, 2});
  }
  for (int i = 0; i < 6; ++i) {
    const int rank = 1 + i % 5;
    join(random_shape(random, rank, 4),
         static_cast<int>(pick(random, 0, rank - 1)),
         random_shape(random, static_cast<int>(pick(random, 1, 4)), 4));
  }
}

void add_slices(OpCases& cases, Random& random) {
  const auto slice = [&](const Shape& x, const SliceAttrs& attrs) {
    Shape part;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const std::int64_t stride = attrs.stride.empty() ? 1 : attrs.stride[axis];
      part.push_back((attrs.end[axis] - attrs.start[axis] - 1) / stride + 1);
    }
    add(cases, OpKind::Slice, attrs, {x});
    add(cases, OpKind::SliceGradient,
        SliceGradientAttrs{attrs.start, attrs.end, attrs.stride, x}, {part});
  };
  slice({7}, {{2}, {5}, {}});
  slice({7}, {{0}, {7}, {3}});
  slice({3, 7}, {{0, 1}, {3, 6}, {2, 3}});
  slice({3, 7}, {{0, 0}, {3, 7}, {}});
  slice({2, 5, 3}, {{1, 0, 2}, {2, 5, 3}, {1, 1, 1}});
  slice({2, 3, 5, 7}, {{0, 1, 1, 2}, {2, 3, 4, 7}, {1, 1, 2, 2}});
  slice({2, 1, 3, 1, 4}, {{0, 0, 1, 0, 1}, {2, 1, 3, 1, 4}, {1, 1, 1, 1, 2}});
  slice({9, 5, 67}, {{1, 0, 3}, {8, 5, 60}, {}});
  slice({3, 1, 2, 4, 1, 3, 2, 5}, {{0, 0, 1, 0, 0, 1, 0, 1},
                                   {3, 1, 2, 4, 1, 3, 2, 5},
                                   {2, 1, 1, 3, 1, 1, 1, 2}});
  for (int i = 0; i < 8; ++i) {
    const Shape x = random_shape(random, 1 + i % 5, 6);
    SliceAttrs attrs;
    for (std::int64_t size : x) {
      attrs.start.push_back(pick(random, 0, size - 1));
      attrs.end.push_back(
          pick(random, attrs.start[attrs.start.rank() - 1] + 1, size));
      attrs.stride.push_back(pick(random, 1, 4));
    }
    slice(x, attrs);
  }
}

void add_pads(OpCases& cases, Random& random) {
  const auto pad = [&](const Shape& x, const Shape& before,
                       const Shape& after) {
    for (auto type :
         {PaddingType::Zero, PaddingType::Constant, PaddingType::Symmetric,
          PaddingType::Reflect, PaddingType::Replicate}) {
      Shape whole = x, b = before, a = after;
      for (int axis = 0; axis < x.rank(); ++axis) {
        const std::int64_t most = type == PaddingType::Reflect ? x[axis] - 1
                                  : type == PaddingType::Symmetric
                                      ? x[axis]
                                      : b[axis] + a[axis];
        b[axis] = std::min(b[axis], most);
        a[axis] = std::min(a[axis], most);
        whole[axis] += b[axis] + a[axis];
      }
      // Every data type can hold 1.
      const float value = type == PaddingType::Constant ? 1 : 0;
      const PadAttrs attrs{type, b, a, value};
      add(cases, OpKind::Pad, attrs, {x});
      cases.push_back({.op = OpKind::PadGradient,
                       .attrs = attrs,
                       .inputs = {{whole}},
                       .gradients = {0}});
    }
  };
  pad({1}, {2}, {1});
  pad({5}, {4}, {4});
  pad({3, 7}, {0, 2}, {1, 0});
  pad({2, 3, 5}, {0, 0, 0}, {0, 0, 0});
  pad({2, 3, 4, 5}, {0, 0, 1, 2}, {0, 0, 3, 1});
  pad({2, 1, 3, 1, 2}, {1, 0, 2, 1, 0}, {0, 1, 1, 0, 1});
  pad({3, 31, 67}, {0, 1, 2}, {0, 3, 4});
  pad({2, 1, 2, 1, 1, 3, 2, 2}, {1, 0, 0, 1, 0, 0, 1, 1},
      {0, 0, 1, 0, 0, 2, 0, 1});
  for (int i = 0; i < 6; ++i) {
    const int rank = 1 + i % 5;
    Shape before = random_shape(random, rank, 3);
    before[0] -= 1;
    pad(random_shape(random, rank, 4), before, random_shape(random, rank, 3));
  }
}

}  // namespace

void add_layout_cases(OpCases& cases, Random& random) {
  add_reshapes(cases);
  add_transposes(cases, random);
  add_joins(cases, random);
  add_slices(cases, random);
  add_pads(cases, random);
}

}  // namespace traingraph::testing
