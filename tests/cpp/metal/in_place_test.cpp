// SPDX-License-Identifier: MIT
// Which updates change their variables in place, and what the executable
// before them has to store.
#include "metal/in_place.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace traingraph::metal {
namespace {

using Values = std::vector<ValueId>;
using Nodes = std::vector<NodeId>;

/// Variables p and q, gradients of theirs that MPSGraph computes, and sums.
class InPlace : public ::testing::Test {
 protected:
  InPlace() {
    dp = sine(x);
    dq = sine(x);
  }

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
  NodeId update(ValueId parameter, ValueId gradient, ValueId scale = kNoValue) {
    program.position.phase = Phase::Update;
    program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                   {parameter, gradient, kNoValue, hyperparameters, scale},
                   "update");
    return last();
  }
  NodeId accumulate(ValueId sum, ValueId gradient, ValueId by) {
    program.append(OpKind::AccumulateGradient, NoAttrs{}, {sum, gradient, by},
                   "sum");
    return last();
  }
  ValueId norm(ValueId of) {
    return program.append_one(OpKind::SquaredNorm, NoAttrs{}, {of}, "norm");
  }
  ValueId clip_scale(ValueId norm) {
    return program.append_one(OpKind::ClipScale, ClipScaleAttrs{},
                              {hyperparameters, norm}, "scale");
  }

  /// All in one unit.
  GpuUnit unit(Values kept = {}) const {
    const auto units = partition(
        program, {.kept = std::move(kept), .joins_phases = true}, limits);
    EXPECT_EQ(units.size(), 1u);
    return units.at(0);
  }
  static Nodes in_place_of(const GpuUnit& unit) {
    Nodes nodes;
    for (const auto& update : unit.in_place) nodes.push_back(update.node);
    return nodes;
  }

  GpuLimits limits;
  Program program;
  ValueId x = value(Role::Input, {5}, "x"),
          hyperparameters = value(Role::Input, {4}, "hyperparameters"),
          list = value(Role::Input, {8}, "list"),
          factors = value(Role::Input, {2}, "factors"),
          p = value(Role::Variable, {5}, "p"),
          q = value(Role::Variable, {5}, "q"),
          sum = value(Role::Variable, {5}, "sum");
  ValueId dp, dq;
};

TEST_F(InPlace, UpdatesReadWhatTheExecutableHasStored) {
  const Nodes updates{update(p, dp), update(q, dq)};
  const GpuUnit all = unit();
  EXPECT_EQ(in_place_of(all), updates);
  EXPECT_EQ(all.feeds, Values{x});
  EXPECT_EQ(all.targets, (Values{dp, dq}));
  EXPECT_TRUE(all.updated.empty());
}

TEST_F(InPlace, NormsAndTheirScaleAreOfTheExecutable) {
  const ValueId squares = norm(dp), scale = clip_scale(squares);
  const Nodes updates{update(p, dp, scale)};
  const GpuUnit all = unit();
  EXPECT_EQ(in_place_of(all), updates);
  EXPECT_EQ(all.feeds, (Values{x, hyperparameters}));
  EXPECT_EQ(all.targets, (Values{dp, scale}));
}

TEST_F(InPlace, SumsAreReadByUpdates) {
  const NodeId adds = accumulate(sum, dp, factors), moves = update(p, sum);
  const GpuUnit all = unit();
  EXPECT_EQ(in_place_of(all), (Nodes{adds, moves}));
  EXPECT_EQ(all.targets, Values{dp});
}

TEST_F(InPlace, ASumThatMPSGraphReadsIsItsOwn) {
  accumulate(sum, dp, factors);
  const Nodes updates{update(p, sum, clip_scale(norm(sum)))};
  const GpuUnit all = unit();
  EXPECT_EQ(in_place_of(all), updates);
  EXPECT_EQ(all.updated, Values{sum});
}

TEST_F(InPlace, FactorsAreReadFromTheirList) {
  const ValueId slice = program.append_one(
      OpKind::Slice, SliceAttrs{.start = {6}, .end = {8}, .stride = {1}},
      {list}, "own");
  accumulate(sum, dp, slice);
  const GpuUnit all = unit();
  ASSERT_EQ(all.in_place.size(), 1u);
  EXPECT_EQ(all.in_place[0].inputs[2].value, list);
  EXPECT_EQ(all.in_place[0].inputs[2].first, 6);
  EXPECT_EQ(all.targets, Values{dp});
}

TEST_F(InPlace, WhatMPSGraphReadsLaterIsNot) {
  update(p, dp);
  const NodeId second = update(q, dq);
  const ValueId y = sine(p);
  const GpuUnit all = unit({y});
  EXPECT_EQ(in_place_of(all), Nodes{second});
  EXPECT_EQ(all.updated, Values{p});
}

TEST_F(InPlace, WhatReadsAVariableThatMPSGraphChangesLaterIsNot) {
  const ValueId before = sine(q);
  update(p, q);       // reads q as it was
  update(q, before);  // MPSGraph's, since that reads its result
  const ValueId after = sine(q);
  const GpuUnit all = unit({after});
  EXPECT_TRUE(all.in_place.empty());
  EXPECT_EQ(all.updated, (Values{p, q}));
}

TEST_F(InPlace, NoneWhereUpdatesDependOnEachOther) {
  update(p, dp);
  update(q, p);
  EXPECT_TRUE(unit().in_place.empty());
  EXPECT_EQ(unit().updated, (Values{p, q}));
}

TEST_F(InPlace, NoneWhereAVariableIsChangedTwice) {
  update(p, dp);
  update(p, dq);
  EXPECT_TRUE(unit().in_place.empty());
}

TEST_F(InPlace, ASumOfASumIsNot) {
  accumulate(sum, dp, factors);
  accumulate(q, sum, factors);
  EXPECT_TRUE(unit().in_place.empty());
}

TEST_F(InPlace, NoneWithoutKernels) {
  limits.uses_update_kernels = false;
  update(p, dp);
  EXPECT_TRUE(unit().in_place.empty());
  EXPECT_EQ(unit().feeds, (Values{x, p, hyperparameters}));
}

}  // namespace
}  // namespace traingraph::metal
