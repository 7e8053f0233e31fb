// SPDX-License-Identifier: MIT
// The reverse walk itself: who gets a gradient, how contributions add up, and
// in which order; what each rule appends is tested with the ops.
#include "autodiff/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/verify.h"
#include "support/run_program.h"

namespace traingraph {
namespace {

using testing::ProgramRun;
using Floats = std::vector<float>;

class GradientTest : public ::testing::Test {
 protected:
  ValueId input(Shape shape = {3}) {
    return program_.add_value(Role::Input, {shape}, "input");
  }
  ValueId binary(ArithmeticOperation operation, ValueId a, ValueId b) {
    return program_.append_one(OpKind::Binary, ArithmeticAttrs{operation},
                               {a, b}, "node");
  }
  ValueId multiply(ValueId a, ValueId b) {
    return binary(ArithmeticOperation::Multiply, a, b);
  }
  ValueId add(ValueId a, ValueId b) {
    return binary(ArithmeticOperation::Add, a, b);
  }
  GradientMap differentiate(GradientRequest request) {
    forward_nodes_ = program_.nodes().size();
    GradientMap gradients = traingraph::differentiate(program_, request);
    verify(program_);
    for (std::size_t i = forward_nodes_; i < program_.nodes().size(); ++i) {
      EXPECT_EQ(program_.nodes()[i].phase, Phase::Gradient);
    }
    return gradients;
  }
  std::size_t gradient_nodes() const {
    return program_.nodes().size() - forward_nodes_;
  }
  Floats evaluate(ValueId value,
                  const std::vector<std::pair<ValueId, Floats>>& data) {
    ProgramRun run(program_, {value});
    for (const auto& [id, contents] : data) run.set(id, contents);
    run.run();
    return run.get(value);
  }

  Program program_;
  std::size_t forward_nodes_ = 0;
};

TEST_F(GradientTest, ANodeThatReadsAValueTwiceContributesTwice) {
  const ValueId x = input(), g = input();
  const ValueId y = multiply(x, x);
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {}});
  EXPECT_EQ(evaluate(d.at(x), {{x, {1, 2, 3}}, {g, {1, 10, 100}}}),
            (Floats{2, 40, 600}));
}

TEST_F(GradientTest, ReadersAddUp) {
  const ValueId x = input(), a = input(), g = input();
  const ValueId u = multiply(x, a);  // d = a
  const ValueId v = multiply(x, x);  // d = 2 x
  const ValueId y = add(add(u, v), x);
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {}});
  EXPECT_EQ(evaluate(d.at(x), {{x, {1, 2, 3}}, {a, {5, 6, 7}}, {g, {1, 1, 2}}}),
            (Floats{8, 11, 28}));
}

TEST_F(GradientTest, LastReadersAreAddedFirst) {
  // The sum's left operand is the contribution of the last reader.
  const ValueId x = input(), a = input(), b = input(), g = input(), h = input();
  const ValueId first = multiply(x, a), second = multiply(x, b);
  const auto d = differentiate(
      {.seeds = {{first, g}, {second, h}}, .wanted = {x}, .stopped = {}});
  const Node& sum = program_.node(program_.value(d.at(x)).producer);
  const auto reads = [&](ValueId product, ValueId value) {
    const Node& node = program_.node(program_.value(product).producer);
    return std::ranges::find(node.inputs, value) != node.inputs.end();
  };
  EXPECT_TRUE(reads(sum.inputs[0], h));
  EXPECT_TRUE(reads(sum.inputs[1], g));
}

TEST_F(GradientTest, SeedsOfOneValueAndOfItsSourceAddUp) {
  const ValueId x = input(), a = input(), g = input(), h = input(), k = input();
  const ValueId y = multiply(x, a);
  const ValueId z = multiply(y, a);
  const auto d = differentiate(
      {.seeds = {{z, g}, {z, h}, {y, k}}, .wanted = {x, y}, .stopped = {}});
  const std::vector<std::pair<ValueId, Floats>> data{{x, {0, 0, 0}},
                                                     {a, {2, 3, 4}},
                                                     {g, {1, 1, 1}},
                                                     {h, {1, 2, 3}},
                                                     {k, {10, 20, 30}}};
  // dz = g + h, dy = dz a + k, dx = dy a
  EXPECT_EQ(evaluate(d.at(z), data), (Floats{2, 3, 4}));
  EXPECT_EQ(evaluate(d.at(y), data), (Floats{14, 29, 46}));
  EXPECT_EQ(evaluate(d.at(x), data), (Floats{28, 87, 184}));
}

TEST_F(GradientTest, AWantedSeedIsItsOwnGradient) {
  const ValueId x = input(), g = input();
  const auto d =
      differentiate({.seeds = {{x, g}}, .wanted = {x}, .stopped = {}});
  EXPECT_EQ(d.at(x), g);
  EXPECT_EQ(gradient_nodes(), 0u);
}

TEST_F(GradientTest, OnlyThePathToAWantedValueGetsNodes) {
  const ValueId x = input({2, 3}), w = input({3, 4}), g = input({2, 4});
  const ValueId y = program_.append_one(OpKind::MatMul, MatMulAttrs{}, {x, w});
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {w}, .stopped = {}});
  EXPECT_TRUE(d.contains(w));
  EXPECT_FALSE(d.contains(x));
  EXPECT_EQ(gradient_nodes(), 1u);
}

TEST_F(GradientTest, UnreachableValuesGetNothing) {
  const ValueId x = input(), unused = input(), g = input();
  const ValueId y = multiply(x, x);
  const ValueId side = multiply(unused, unused);
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x, unused}, .stopped = {}});
  EXPECT_TRUE(d.contains(x));
  EXPECT_FALSE(d.contains(unused));
  EXPECT_FALSE(d.contains(side));
}

TEST_F(GradientTest, NothingIsWanted) {
  const ValueId x = input(), g = input();
  const ValueId y = multiply(x, x);
  differentiate({.seeds = {{y, g}}, .wanted = {}, .stopped = {}});
  EXPECT_EQ(gradient_nodes(), 0u);
}

TEST_F(GradientTest, AStoppedValuePassesNothingOn) {
  const ValueId x = input(), a = input(), g = input();
  const ValueId stopped = multiply(x, a);
  const ValueId y = add(multiply(stopped, x), x);  // as if stopped were data
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {stopped}});
  EXPECT_EQ(evaluate(d.at(x), {{x, {1, 2, 3}}, {a, {5, 6, 7}}, {g, {1, 1, 1}}}),
            (Floats{6, 13, 22}));
}

TEST_F(GradientTest, AStoppedSeedReachesNobody) {
  const ValueId x = input(), g = input();
  const ValueId y = multiply(x, x);
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {y}});
  EXPECT_FALSE(d.contains(x));
  EXPECT_EQ(gradient_nodes(), 0u);
}

TEST_F(GradientTest, AStoppedValueHasNoGradientEvenWhenWanted) {
  const ValueId x = input(), a = input(), g = input();
  const ValueId y = multiply(x, a);
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {x}});
  EXPECT_FALSE(d.contains(x));
}

TEST_F(GradientTest, OnlyUsedResultsOfASplitNeedGradients) {
  const ValueId x = input({2, 4}), g = input({2, 3});
  const auto parts = program_.append(
      OpKind::Split, SplitAttrs{.lengths = {1, 3}, .axis = 1}, {x}, "split");
  const auto d =
      differentiate({.seeds = {{parts[1], g}}, .wanted = {x}, .stopped = {}});
  EXPECT_EQ(evaluate(d.at(x), {{x, Floats(8, 9.0f)}, {g, {1, 2, 3, 4, 5, 6}}}),
            (Floats{0, 1, 2, 3, 0, 4, 5, 6}));
}

TEST_F(GradientTest, NotDifferentiableOpsEndThePath) {
  const ValueId x = input(), g = input();
  const ValueId index = program_.append_one(
      OpKind::Reduce, ReduceAttrs{ReductionType::ArgMax, {0}}, {x});
  const ValueId back =
      program_.append_one(OpKind::Cast, CastAttrs{DataType::Float32}, {index});
  const ValueId y = multiply(
      x, program_.append_one(OpKind::BroadcastTo, ShapeAttrs{{3}}, {back}));
  const auto d =
      differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {}});
  EXPECT_EQ(evaluate(d.at(x), {{x, {1, 2, 3}}, {g, {1, 1, 1}}}),
            (Floats{2, 2, 2}));
}

TEST_F(GradientTest, NodesCarryLayerAndNameOfWhatTheyDifferentiate) {
  const ValueId x = input(), g = input();
  program_.position = {Phase::Forward, 7, "layer seven"};
  const ValueId y = program_.append_one(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply}, {x, x});
  differentiate({.seeds = {{y, g}}, .wanted = {x}, .stopped = {}});
  ASSERT_GT(gradient_nodes(), 0u);
  for (std::size_t i = forward_nodes_; i < program_.nodes().size(); ++i) {
    EXPECT_EQ(program_.nodes()[i].layer, 7);
    EXPECT_EQ(program_.nodes()[i].name, "layer seven");
  }
}

}  // namespace
}  // namespace traingraph
