// SPDX-License-Identifier: MIT
// Which recurrent ops are the two directions of one.
#include "metal/ops/rnn_pair.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

class RnnPairs : public ::testing::Test {
 protected:
  ValueId input(const Shape& shape) {
    return program.add_value(Role::Input, {.shape = shape}, "input");
  }
  ValueId half(ValueId of, int axis, int index) {
    const Shape whole = program.shape(of);
    SliceAttrs attrs{.start = Shape::filled(whole.rank(), 0),
                     .end = whole,
                     .stride = Shape::filled(whole.rank(), 1)};
    attrs.start[axis] = index * whole[axis] / 2;
    attrs.end[axis] = (index + 1) * whole[axis] / 2;
    return program.append_one(OpKind::Slice, attrs, {of});
  }
  ValueId weights(int index) {
    return program.append_one(OpKind::Reshape, ShapeAttrs{{6, 2}},
                              {half(r, 0, index)});
  }
  NodeId steps(const GruAttrs& attrs, ValueId gates, ValueId recurrent,
               ValueId state = kNoValue) {
    const auto results =
        program.append(OpKind::GruSteps, attrs,
                       {gates, recurrent, state, kNoValue, kNoValue, kNoValue});
    return program.value(results[0]).producer;
  }

  static constexpr int kWeights = 1;
  Program program;
  ValueId x = input({4, 3, 12}), r = input({2, 6, 2});
};

TEST_F(RnnPairs, AreHalvesOfTheSameWeights) {
  const ValueId states = input({3, 4});
  const NodeId forward =
      steps({}, half(x, 2, 0), weights(0), half(states, 1, 0));
  const NodeId reverse =
      steps({.reverse = true}, half(x, 2, 1), weights(1), half(states, 1, 1));
  const auto pair = find_rnn_pair(program, reverse, kWeights);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->forward, forward);
  EXPECT_EQ(pair->whole,
            (std::vector<ValueId>{x, r, states, kNoValue, kNoValue, kNoValue}));
  EXPECT_FALSE(find_rnn_pair(program, forward, kWeights));
}

TEST_F(RnnPairs, MayHaveInputsThatAreNoHalves) {
  steps({}, input({4, 3, 6}), weights(0));
  const NodeId reverse = steps({.reverse = true}, input({4, 3, 6}), weights(1));
  const auto pair = find_rnn_pair(program, reverse, kWeights);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->whole[0], kNoValue);
  EXPECT_EQ(pair->whole[kWeights], r);
}

TEST_F(RnnPairs, DifferInNothingButTheDirection) {
  const ValueId state = input({3, 2}), own = input({6, 2});
  steps({.reset_after = false}, half(x, 2, 0), weights(0));
  steps({}, half(x, 2, 0), weights(0), state);
  steps({}, half(x, 2, 0), own);
  steps({}, half(x, 2, 0), weights(1));
  steps({.reverse = true}, half(x, 2, 0), weights(0));
  const NodeId reverse = steps({.reverse = true}, half(x, 2, 1), weights(1));
  EXPECT_FALSE(find_rnn_pair(program, reverse, kWeights));
}

}  // namespace
}  // namespace traingraph::metal
