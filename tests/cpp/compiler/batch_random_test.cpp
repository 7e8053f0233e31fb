// SPDX-License-Identifier: MIT
// Random programs of ops that keep samples apart. Where a smaller batch is
// accepted, the program resized to it is the one declared at it, gradients
// included, and computes the samples that the whole batch has: each is found
// where the derived axis says.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "autodiff/gradient.h"
#include "compiler/passes/batch_axis.h"
#include "graph/verify.h"
#include "support/reference.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kDeclared = 4;

/// A size as a function of the batch.
struct Size {
  std::int64_t factor = 1;
  bool follows = false;
  std::int64_t at(std::int64_t n) const {
    return follows ? factor * n : factor;
  }
};
using Sizes = std::vector<Size>;

Shape at(const Sizes& sizes, std::int64_t n) {
  Shape shape;
  for (const Size& size : sizes) shape.push_back(size.at(n));
  return shape;
}

/// Choices are the same for any batch size: they depend on the seed only.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, std::int64_t n) : random_(seed), n_(n) {
    sizes_ = {{2}, {3}, {4}};  // one axis has as many entries as samples
    const int axis = pick(0, 2);
    sizes_[axis] = {1, true};
    x = program.add_value(Role::Input, {at(sizes_, n)}, "x");
    program.value(x).batch.axis = axis;
    y = x;
    const int count = pick(2, 7);
    for (int i = 0; i < count; ++i) add_node();
  }

  /// d sum(y * seed of ones) / d x.
  ValueId differentiate_x() {
    const ValueId ones = program.append_one(
        OpKind::Fill, FillAttrs{.shape = program.shape(y), .value = 1}, {});
    const GradientMap map = differentiate(
        program, {.seeds = {{y, ones}}, .wanted = {x}, .stopped = {}});
    const auto it = map.find(x);
    return it == map.end() ? kNoValue : it->second;
  }

  Program program;
  ValueId x = kNoValue, y = kNoValue;

 private:
  int pick(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  }
  int rank() const { return static_cast<int>(sizes_.size()); }
  void add(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    y = program.append_one(op, std::move(attrs), std::move(inputs));
  }
  ValueId constant(Shape shape) {
    return program.add_value(Role::Variable, {shape}, "constant");
  }

  void add_node() {
    switch (pick(0, 7)) {
      case 0:
        return add(OpKind::Activation,
                   ActivationAttrs{.type = ActivationType::Tanh}, {y});
      case 1:
        return add_transpose();
      case 2:
        return add_merge();
      case 3:
        return add_split_of_axis();
      case 4:
        return add(OpKind::Binary,
                   ArithmeticAttrs{ArithmeticOperation::Multiply},
                   {y, pick(0, 1) ? y : constant({1})});
      case 5:
        return add_concatenate();
      case 6:
        return add_slice();
      default:
        return add_product();
    }
  }

  void add_transpose() {
    std::vector<int> order(rank());
    for (int i = 0; i < rank(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    Shape dimensions;
    Sizes moved;
    for (int axis : order) {
      dimensions.push_back(axis);
      moved.push_back(sizes_[axis]);
    }
    sizes_ = moved;
    add(OpKind::Transpose, TransposeAttrs{dimensions}, {y});
  }

  void add_merge() {
    if (rank() < 2) return;
    const int axis = pick(0, rank() - 2);
    const Size next = sizes_[axis + 1];
    sizes_[axis] = {sizes_[axis].factor * next.factor,
                    sizes_[axis].follows || next.follows};
    sizes_.erase(sizes_.begin() + axis + 1);
    add(OpKind::Reshape, ShapeAttrs{at(sizes_, n_)}, {y});
  }

  /// Into two, of which either may have the batch.
  void add_split_of_axis() {
    const int axis = pick(0, rank() - 1);
    const Size whole = sizes_[axis];
    const int outer = pick(1, 4);
    const bool is_first = pick(0, 1) == 1;
    if (whole.factor % outer != 0 || rank() == kMaxRank) return;
    sizes_[axis] = {outer, whole.follows && is_first};
    sizes_.insert(sizes_.begin() + axis + 1,
                  {whole.factor / outer, whole.follows && !is_first});
    add(OpKind::Reshape, ShapeAttrs{at(sizes_, n_)}, {y});
  }

  void add_concatenate() {
    const int axis = pick(0, rank() - 1);
    sizes_[axis].factor *= 2;
    add(OpKind::Concatenate, AxisAttrs{axis}, {y, y});
  }

  /// The second half of an axis.
  void add_slice() {
    const int axis = pick(0, rank() - 1);
    if (sizes_[axis].factor % 2 != 0) return;
    Shape start = Shape::filled(rank(), 0);
    const Shape end = at(sizes_, n_);
    sizes_[axis].factor /= 2;
    start[axis] = sizes_[axis].at(n_);
    add(OpKind::Slice, SliceAttrs{start, end, {}}, {y});
  }

  void add_product() {
    if (rank() < 2 || sizes_.back().follows) return;
    const std::int64_t columns = pick(2, 4);
    const ValueId weights = constant({sizes_.back().factor, columns});
    sizes_.back() = {columns};
    add(OpKind::MatMul, MatMulAttrs{}, {y, weights});
  }

  std::mt19937 random_;
  std::int64_t n_;
  Sizes sizes_;
};

/// Calls action(index of an element, which sample it is of, where it is when
/// there are only `n` samples).
template <class Action>
void for_each_element(const Shape& shape, const BatchAxis& axis, std::int64_t n,
                      const Action& action) {
  std::int64_t low = axis.step;
  for (int i = axis.axis + 1; i < shape.rank(); ++i) low *= shape[i];
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    const std::int64_t sample = i / low % kDeclared;
    const std::int64_t outer = i / low / kDeclared;
    action(i, sample, (outer * n + sample) * low + i % low);
  }
}

RefValues inputs_of(const Program& program) {
  RefValues values;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (ValueId v = 0; v < static_cast<ValueId>(program.values().size()); ++v) {
    if (program.value(v).role == Role::Result) continue;
    RefTensor tensor = zeros(program.shape(v));
    for (double& element : tensor.data) element = uniform(random);
    values[v] = std::move(tensor);
  }
  return values;
}

/// The first `n` samples.
RefTensor part_of(const RefTensor& whole, const BatchAxis& axis,
                  const Shape& shape, std::int64_t n) {
  RefTensor part = zeros(shape);
  for_each_element(whole.shape, axis, n,
                   [&](std::int64_t i, std::int64_t sample, std::int64_t to) {
                     if (sample < n) part.data[to] = whole.data[i];
                   });
  return part;
}

class RandomBatches : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomBatches, AreTheWholeBatchsSamples) {
  int num_accepted = 0;
  for (unsigned i = 0; i < 50; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram whole(seed, kDeclared);
    if (derive_batch_axes(whole.program, kDeclared)) continue;
    ++num_accepted;
    const BatchAxis x_axis = whole.program.value(whole.x).batch;
    const BatchAxis y_axis = whole.program.value(whole.y).batch;
    ASSERT_TRUE(y_axis);
    ASSERT_NE(y_axis.step, 0);
    const RefValues inputs = inputs_of(whole.program);
    const ValueId whole_gradient = whole.differentiate_x();
    const RefValues all = evaluate_program(whole.program, inputs);
    for (const std::int64_t n : {1, 3}) {
      RandomProgram resized(seed, kDeclared), declared(seed, n);
      resize_batch(resized.program, {kDeclared, n});
      const ValueId gradient = resized.differentiate_x();
      declared.differentiate_x();
      ASSERT_EQ(resized.program.to_string(), declared.program.to_string());
      verify(resized.program);
      RefValues few = inputs;
      few[whole.x] = part_of(inputs.at(whole.x), x_axis,
                             resized.program.shape(whole.x), n);
      const RefValues got = evaluate_program(resized.program, few);
      EXPECT_EQ(got.at(whole.y).data, part_of(all.at(whole.y), y_axis,
                                              resized.program.shape(whole.y), n)
                                          .data);
      ASSERT_EQ(gradient == kNoValue, whole_gradient == kNoValue);
      if (gradient == kNoValue) continue;
      EXPECT_EQ(got.at(gradient).data,
                part_of(all.at(whole_gradient), x_axis,
                        resized.program.shape(gradient), n)
                    .data);
    }
  }
  EXPECT_GE(num_accepted, 25);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomBatches, ::testing::Range(0u, 6u));

}  // namespace
}  // namespace traingraph
