// SPDX-License-Identifier: MIT
// Which changes of variables wait until all units of a run are done.
#include "metal/deferred_writes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace traingraph::metal {
namespace {

using Bools = std::vector<bool>;

/// Nodes that change the variables p, q and sum, each in a unit of its own or
/// all in one.
class DeferredWritesTest : public ::testing::Test {
 protected:
  ValueId value(Role role, Shape shape, const char* name) {
    return program.add_value(role, {shape}, name);
  }
  ValueId sine(ValueId of) {
    return program.append_one(
        OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Sin}, {of}, "sine");
  }
  NodeId last() const {
    return static_cast<NodeId>(program.nodes().size()) - 1;
  }
  NodeId update(ValueId parameter, ValueId gradient) {
    program.position.phase = Phase::Update;
    program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                   {parameter, gradient, kNoValue, hyperparameters, kNoValue},
                   "update");
    return last();
  }
  NodeId accumulate(ValueId gradient) {
    program.position.phase = Phase::Gradient;
    program.append(OpKind::AccumulateGradient, NoAttrs{},
                   {sum, gradient, factors}, "sum");
    return last();
  }

  /// Is the change that a node makes deferred?
  bool is_deferred(NodeId node) const {
    const auto units = partition(program, options, limits);
    const DeferredWrites deferred(program, options, units);
    for (std::size_t u = 0; u < units.size(); ++u) {
      const AreDeferred are_deferred = deferred.of(static_cast<int>(u));
      EXPECT_EQ(are_deferred.in_place.size(), units[u].in_place.size());
      EXPECT_EQ(are_deferred.updated.size(), units[u].updated.size());
      for (std::size_t i = 0; i < units[u].in_place.size(); ++i) {
        if (units[u].in_place[i].node == node) return are_deferred.in_place[i];
      }
      if (std::ranges::find(units[u].nodes, node) == units[u].nodes.end()) {
        continue;
      }
      EXPECT_EQ(are_deferred.updated.size(), 1u);
      return are_deferred.updated.at(0);
    }
    ADD_FAILURE() << "no unit has node " << node;
    return false;
  }

  GpuLimits limits;
  LowerOptions options{.kept = {}, .joins_phases = true, .max_gpu_ms = 1e-9};
  Program program;
  ValueId x = value(Role::Input, {5}, "x"),
          hyperparameters = value(Role::Input, {4}, "hyperparameters"),
          factors = value(Role::Input, {2}, "factors"),
          p = value(Role::Variable, {5}, "p"),
          q = value(Role::Variable, {5}, "q"),
          sum = value(Role::Variable, {5}, "sum");
};

TEST_F(DeferredWritesTest, WhatNobodyNeedsLater) {
  const ValueId dp = sine(x);
  const NodeId first = update(p, dp), second = update(q, sine(dp));
  EXPECT_TRUE(is_deferred(first));
  EXPECT_TRUE(is_deferred(second));
  limits.uses_update_kernels = false;
  EXPECT_TRUE(is_deferred(first));
  EXPECT_TRUE(is_deferred(second));
}

TEST_F(DeferredWritesTest, NotWhatALaterUnitReads) {
  const NodeId first = update(p, sine(x));
  options.kept = {sine(p)};
  EXPECT_FALSE(is_deferred(first));
  limits.uses_update_kernels = false;
  EXPECT_FALSE(is_deferred(first));
}

TEST_F(DeferredWritesTest, NotWhatALaterUnitChangesToo) {
  const ValueId dp = sine(x);
  const NodeId first = update(p, dp), second = update(p, sine(dp));
  EXPECT_FALSE(is_deferred(first));
  EXPECT_TRUE(is_deferred(second));
}

TEST_F(DeferredWritesTest, NotWhatReadsAVariableThatALaterUnitChanges) {
  const NodeId first = update(p, q), second = update(q, sine(x));
  EXPECT_FALSE(is_deferred(first));
  EXPECT_TRUE(is_deferred(second));
}

TEST_F(DeferredWritesTest, ASumIsNeededByItsUpdate) {
  const NodeId adds = accumulate(sine(x)), moves = update(p, sum);
  EXPECT_FALSE(is_deferred(adds));
  EXPECT_TRUE(is_deferred(moves));
  options.joins_phases = false;  // then it is another run's
  EXPECT_TRUE(is_deferred(adds));
  EXPECT_TRUE(is_deferred(moves));
  options = {.kept = {}, .joins_phases = true};
  EXPECT_TRUE(is_deferred(adds));
  EXPECT_TRUE(is_deferred(moves));
}

// In one unit the sum is in place, its update as well; then p is read by a unit
// of another engine or phase.
TEST_F(DeferredWritesTest, NotWhatAnEarlyUpdateOfItsUnitReads) {
  const NodeId adds = accumulate(sine(x)), moves = update(p, sum);
  const ValueId label = value(Role::Input, {5}, "label");
  options = {.kept = {}, .joins_phases = true, .may_be_absent = {label}};
  options.kept = {program.append_one(OpKind::Binary,
                                     ArithmeticAttrs{ArithmeticOperation::Add},
                                     {p, label}, "add")};
  EXPECT_FALSE(is_deferred(adds));
  EXPECT_FALSE(is_deferred(moves));
}

}  // namespace
}  // namespace traingraph::metal
