// SPDX-License-Identifier: MIT
// Which nodes become one executable and what crosses its border.
#include "metal/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/cost.h"

namespace traingraph::metal {
namespace {

using Values = std::vector<ValueId>;
using Nodes = std::vector<NodeId>;

/// y = dropout(x w + b) against a label, with gradients and updates, as the
/// compiler appends them.
class Partition : public ::testing::Test {
 protected:
  Partition() {
    begin(Phase::Forward);
    z = add(OpKind::MatMul, MatMulAttrs{}, {x, w, b}, "fc");
    y = add(OpKind::Dropout, kDropout, {z, state}, "drop");
    loss = add(OpKind::Loss, LossAttrs{}, {y, label, kNoValue}, "mse");
    begin(Phase::Gradient);
    seed = add(OpKind::Fill, FillAttrs{.shape = {1}, .value = 1}, {}, "seed");
    dy = add(OpKind::LossGradient, LossAttrs{}, {seed, y, label, kNoValue},
             "mse");
    dz = add(OpKind::Dropout, kDropout, {dy, state}, "drop");
    dw = add(OpKind::MatMul, MatMulAttrs{.transposes_x = true},
             {x, dz, kNoValue}, "fc");
    db = add(OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0}}, {dz}, "fc");
    db = add(OpKind::Reshape, ShapeAttrs{{3}}, {db}, "fc");
    begin(Phase::Update);
    update(w, dw);
    update(b, db);
  }

  void begin(Phase phase) { program.position.phase = phase; }
  ValueId add(OpKind op, Attributes attrs, Values inputs, std::string name) {
    const auto layer = std::ranges::find(layers_, name);
    program.position.layer =
        layer == layers_.end() ? -1 : static_cast<int>(layer - layers_.begin());
    return program.append_one(op, std::move(attrs), std::move(inputs),
                              std::move(name));
  }
  void update(ValueId parameter, ValueId gradient) {
    program.position.layer = 0;
    program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                   {parameter, gradient, kNoValue, hyperparameters, kNoValue},
                   program.value(parameter).name);
  }
  ValueId value(Role role, Shape shape, const char* name,
                DataType type = DataType::Float32) {
    return program.add_value(role, {shape, type}, name);
  }
  double milliseconds(NodeId id) const {
    const NodeCost cost = estimate_cost(program, program.node(id));
    return limits.estimated_ms(cost.flops, cost.bytes);
  }

  std::vector<GpuUnit> cut(const LowerOptions& options) const {
    return partition(program, options, limits);
  }

  GpuLimits limits;
  static constexpr DropoutAttrs kDropout{.rate = 0.5f, .stream = 3};
  Program program;
  ValueId x = value(Role::Input, {8, 4}, "x"),
          label = value(Role::Input, {8, 3}, "label"),
          state = value(Role::Input, {4}, "state", DataType::Int32),
          hyperparameters = value(Role::Input, {4}, "hyperparameters"),
          w = value(Role::Variable, {4, 3}, "w"),
          b = value(Role::Variable, {3}, "b");
  ValueId z, y, loss, seed, dy, dz, dw, db;

 private:
  const std::vector<std::string> layers_{"fc", "drop", "mse"};
};

/// All nodes, each once.
Nodes nodes_of(const std::vector<GpuUnit>& units) {
  Nodes nodes;
  for (const GpuUnit& unit : units) {
    nodes.insert(nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  return nodes;
}

/// The nodes that change variables in place.
Nodes in_place_of(const GpuUnit& unit) {
  Nodes nodes;
  for (const InPlaceUpdate& update : unit.in_place) {
    nodes.push_back(update.node);
  }
  return nodes;
}

const Nodes kAllNodes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

TEST_F(Partition, OneUnitPerPhase) {
  const auto units = cut({.kept = {loss, dw, db}});
  ASSERT_EQ(units.size(), 3u);
  EXPECT_EQ(nodes_of(units), kAllNodes);

  EXPECT_EQ(units[0].phase, Phase::Forward);
  EXPECT_EQ(units[0].nodes, (Nodes{0, 1, 2}));
  EXPECT_EQ(units[0].feeds, (Values{x, w, b, label}));
  EXPECT_EQ(units[0].targets, (Values{y, loss}));
  EXPECT_TRUE(units[0].updated.empty());

  EXPECT_EQ(units[1].phase, Phase::Gradient);
  EXPECT_EQ(units[1].nodes, (Nodes{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(units[1].feeds, (Values{y, label, x}));
  EXPECT_EQ(units[1].targets, (Values{dw, db}));

  EXPECT_EQ(units[2].phase, Phase::Update);
  EXPECT_EQ(units[2].nodes, (Nodes{9, 10}));
  EXPECT_EQ(in_place_of(units[2]), (Nodes{9, 10}));
  EXPECT_TRUE(units[2].feeds.empty());
  EXPECT_TRUE(units[2].updated.empty());
  EXPECT_TRUE(units[2].targets.empty());
}

/// The engine that runs each unit.
std::vector<Engine> engines_of(const std::vector<GpuUnit>& units) {
  std::vector<Engine> engines;
  for (const GpuUnit& unit : units) engines.push_back(unit.engine);
  return engines;
}

TEST_F(Partition, AHostOpIsAUnitOfItsOwn) {
  begin(Phase::Gradient);
  const ValueId begun =
      program.append_one(OpKind::AllReduceStart, NoAttrs{}, {dw});
  const ValueId sum =
      program.append_one(OpKind::AllReduceDone, NoAttrs{}, {begun});
  program.reorder(Nodes{0, 1, 2, 3, 4, 5, 6, 11, 7, 8, 12, 9, 10});
  const auto units = cut({.kept = {loss, sum, db}});
  using enum Engine;
  EXPECT_EQ(engines_of(units),
            (std::vector{Graph, Graph, Host, Graph, Host, Graph}));
  EXPECT_EQ(units[1].nodes, (Nodes{3, 4, 5, 6}));
  EXPECT_EQ(units[1].targets, (Values{dz, dw}));
  EXPECT_EQ(units[2].nodes, Nodes{7});
  EXPECT_EQ(units[2].feeds, Values{dw});
  EXPECT_EQ(units[3].nodes, (Nodes{8, 9}));
  EXPECT_EQ(units[4].targets, Values{sum});
}

TEST_F(Partition, UpdatesAreOfTheExecutableWithoutKernelsForThem) {
  limits.uses_update_kernels = false;
  const auto units = cut({.kept = {loss}, .joins_phases = true});
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].feeds, (Values{x, w, b, label, hyperparameters}));
  EXPECT_EQ(units[0].targets, Values{loss});
  EXPECT_EQ(units[0].updated, (Values{w, b}));
  EXPECT_TRUE(units[0].in_place.empty());
}

TEST_F(Partition, EachPhaseMakesTheMaskAgain) {
  const auto units = cut({.kept = {loss}});
  for (int u : {0, 1}) {
    ASSERT_EQ(units[u].masks.size(), 1u);
    EXPECT_EQ(units[u].masks[0].attrs, kDropout);
    EXPECT_EQ(units[u].masks[0].desc,
              (TensorDescriptor{{8, 3}, DataType::Boolean}));
    EXPECT_EQ(units[u].masks[0].random_state, state);
    EXPECT_EQ(units[u].masks[0].nodes, Nodes{u == 0 ? 1 : 5});
  }
  EXPECT_TRUE(units[2].masks.empty());
}

TEST_F(Partition, JoinedPhasesAreOneUnitWithOneMask) {
  const auto units = cut({.kept = {loss}, .joins_phases = true});
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].nodes, kAllNodes);
  EXPECT_EQ(units[0].feeds, (Values{x, w, b, label}));
  EXPECT_EQ(units[0].targets, (Values{loss, dw, db}));
  EXPECT_TRUE(units[0].updated.empty());
  EXPECT_EQ(in_place_of(units[0]), (Nodes{9, 10}));
  ASSERT_EQ(units[0].masks.size(), 1u);
  EXPECT_EQ(units[0].masks[0].nodes, (Nodes{1, 5}));
}

TEST_F(Partition, OtherStreamsAndShapesHaveMasksOfTheirOwn) {
  begin(Phase::Forward);
  DropoutAttrs other = kDropout;
  other.stream = 4;
  const ValueId second = add(OpKind::Dropout, other, {z, state}, "other");
  const ValueId third = add(OpKind::Dropout, kDropout, {x, state}, "other");
  const auto units = cut({.kept = {loss, second, third}, .joins_phases = true});
  EXPECT_EQ(units[0].masks.size(), 3u);
}

TEST_F(Partition, AttentionSharesAMaskOfItsWeightsWithItsGradient) {
  const AttentionAttrs attrs{.head_count = 2, .dropout = 0.5f, .stream = 9};
  const ValueId query = value(Role::Input, {3, 4, 6}, "query"),
                key = value(Role::Input, {3, 5, 6}, "key");
  begin(Phase::Forward);
  program.position.layer = -1;
  const auto results = program.append(
      OpKind::Attention, attrs, {query, key, key, kNoValue, kNoValue, state});
  begin(Phase::Gradient);
  const auto gradients =
      program.append(OpKind::AttentionGradient, attrs,
                     {results[0], query, key, key, results[0], results[1],
                      kNoValue, kNoValue, state});
  const auto units = cut({.kept = gradients, .joins_phases = true});
  ASSERT_EQ(units.size(), 1u);
  ASSERT_EQ(units[0].masks.size(), 2u);  // and that of the dropout
  const Mask& mask = units[0].masks[1];
  EXPECT_EQ(mask.attrs, (DropoutAttrs{.rate = 0.5f, .seed = 0, .stream = 9}));
  EXPECT_EQ(mask.desc, (TensorDescriptor{{6, 4, 5}, DataType::Boolean}));
  EXPECT_EQ(mask.random_state, state);
  EXPECT_EQ(mask.nodes.size(), 2u);
  EXPECT_EQ(std::ranges::count(units[0].feeds, state), 0);
}

TEST_F(Partition, DropoutIsAKernelWhenItsMaskIsLarge) {
  limits.max_mask_bytes = 8 * 3;
  for (const Node& node : program.nodes()) {
    EXPECT_EQ(engine_of(program, node, limits), Engine::Graph);
  }
  limits.max_mask_bytes = 8 * 3 - 1;
  for (NodeId id : kAllNodes) {
    const bool is_dropout = id == 1 || id == 5;
    EXPECT_EQ(engine_of(program, program.node(id), limits),
              is_dropout ? Engine::Kernel : Engine::Graph);
  }
}

TEST_F(Partition, AChangeOfEngineCutsAUnit) {
  limits.max_mask_bytes = 0;
  const auto units = cut({.kept = {loss}, .joins_phases = true});
  using enum Engine;
  EXPECT_EQ(engines_of(units),
            (std::vector{Graph, Kernel, Graph, Kernel, Graph}));
  EXPECT_EQ(nodes_of(units), kAllNodes);
  for (const GpuUnit& unit : units) EXPECT_TRUE(unit.masks.empty());

  EXPECT_EQ(units[0].targets, Values{z});
  EXPECT_EQ(units[1].nodes, Nodes{1});
  EXPECT_EQ(units[1].feeds, (Values{z, state}));
  EXPECT_EQ(units[1].targets, Values{y});
  EXPECT_EQ(units[2].feeds, (Values{y, label}));
  EXPECT_EQ(units[2].targets, (Values{loss, dy}));
  EXPECT_EQ(units[3].phase, Phase::Gradient);
  EXPECT_EQ(units[3].feeds, (Values{dy, state}));
  EXPECT_EQ(units[4].feeds, (Values{x, dz}));
  EXPECT_EQ(units[4].targets, (Values{dw, db}));
  EXPECT_EQ(in_place_of(units[4]), (Nodes{9, 10}));
  EXPECT_EQ(label_of(program, units[3]), "drop (gradient)");
}

TEST_F(Partition, NeighboursOnAKernelAreUnitsOfTheirOwn) {
  limits.max_mask_bytes = 0;
  begin(Phase::Forward);
  DropoutAttrs other = kDropout;
  other.stream = 4;
  const ValueId once = add(OpKind::Dropout, other, {x, state}, "drop");
  const ValueId twice = add(OpKind::Dropout, kDropout, {once, state}, "drop");
  const auto units = cut({.kept = {twice}});
  ASSERT_GE(units.size(), 2u);
  EXPECT_EQ(units[units.size() - 2].targets, Values{once});
  EXPECT_EQ(units.back().feeds, (Values{once, state}));
}

TEST_F(Partition, ASlowerGpuCutsMore) {
  const LowerOptions options{
      .kept = {loss}, .joins_phases = true, .max_gpu_ms = 1e-4};
  const std::size_t before = cut(options).size();
  limits.bytes_per_second /= 100;
  limits.flops_per_second /= 100;
  EXPECT_GT(cut(options).size(), before);
}

TEST_F(Partition, DropoutThatDropsNothingHasNoMask) {
  Program inference;
  const ValueId in = inference.add_value(Role::Input, {{8}}, "x");
  const ValueId random =
      inference.add_value(Role::Input, {{4}, DataType::Int32}, "state");
  const ValueId out = inference.append_one(
      OpKind::Dropout, DropoutAttrs{.rate = 0}, {in, random}, "drop");
  limits.max_mask_bytes = 0;
  const auto units = partition(inference, {.kept = {out}}, limits);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].engine, Engine::Graph);
  EXPECT_EQ(units[0].feeds, Values{in});
  EXPECT_TRUE(units[0].masks.empty());
}

TEST_F(Partition, AZeroLimitNeverCutsAndATinyOneCutsEverywhere) {
  const auto units =
      cut({.kept = {loss}, .joins_phases = true, .max_gpu_ms = 1e-12});
  ASSERT_EQ(units.size(), kAllNodes.size());
  EXPECT_EQ(nodes_of(units), kAllNodes);
  EXPECT_EQ(units[0].targets, Values{z});
  EXPECT_EQ(units[1].feeds, Values{z});
  EXPECT_EQ(units[5].feeds, Values{dy});
  EXPECT_EQ(units[5].masks[0].nodes, Nodes{5});
  EXPECT_EQ(units[9].phase, Phase::Update);
  EXPECT_EQ(in_place_of(units[9]), Nodes{9});
}

TEST_F(Partition, PiecesRespectTheLimit) {
  double total = 0;
  for (NodeId id : kAllNodes) total += milliseconds(id);
  for (double part : {0.1, 0.3, 0.5, 0.9}) {
    const double limit = part * total;
    const auto units =
        cut({.kept = {loss}, .joins_phases = true, .max_gpu_ms = limit});
    EXPECT_EQ(nodes_of(units), kAllNodes);
    EXPECT_GE(units.size(), 2u);
    for (const GpuUnit& unit : units) {
      double ms = 0;
      for (NodeId id : unit.nodes) ms += milliseconds(id);
      EXPECT_TRUE(ms <= limit * 1.000001 || unit.nodes.size() == 1);
    }
  }
}

TEST_F(Partition, EveryFeedIsStoredByAnEarlierUnit) {
  for (double limit : {0.0, 1e-12, 5e-5, 1e-4, 2e-4}) {
    std::vector<bool> is_stored(program.values().size(), false);
    for (ValueId value : {x, label, hyperparameters, w, b})
      is_stored[value] = true;
    for (const GpuUnit& unit : cut({.kept = {loss}, .max_gpu_ms = limit})) {
      for (ValueId value : unit.feeds) EXPECT_TRUE(is_stored[value]) << limit;
      for (ValueId value : unit.targets) is_stored[value] = true;
    }
    EXPECT_TRUE(is_stored[loss]);
  }
}

TEST_F(Partition, WhatNeedsTheLabelsComesLast) {
  const auto units = cut({.kept = {y, loss}, .may_be_absent = {label}});
  // Only the seed of the gradient needs no label.
  ASSERT_EQ(units.size(), 5u);
  EXPECT_EQ(units[0].nodes, (Nodes{0, 1}));
  EXPECT_EQ(units[0].targets, Values{y});
  EXPECT_EQ(units[1].nodes, Nodes{3});
  EXPECT_EQ(units[2].nodes, Nodes{2});
  EXPECT_EQ(units[2].feeds, (Values{y, label}));
  EXPECT_EQ(units[3].nodes, (Nodes{4, 5, 6, 7, 8}));
}

TEST_F(Partition, UpdatesThatMayBeLeftOutAreAlone) {
  for (bool joins : {false, true}) {
    const auto units =
        cut({.kept = {loss}, .joins_phases = joins, .separates_updates = true});
    ASSERT_EQ(units.size(), joins ? 3u : 4u);
    EXPECT_EQ(units[units.size() - 2].nodes, Nodes{9});
    EXPECT_EQ(units[units.size() - 1].nodes, Nodes{10});
    EXPECT_EQ(in_place_of(units.back()), Nodes{10});
  }
}

TEST_F(Partition, UnitsWithoutResultsAreDropped) {
  Program unread;
  const ValueId in = unread.add_value(Role::Input, {{8}}, "x");
  unread.append_one(OpKind::Activation, ActivationAttrs{}, {in}, "relu");
  EXPECT_TRUE(partition(unread, {}, limits).empty());
}

TEST_F(Partition, OpaqueStateNeverCrosses) {
  Program pooled;
  const ValueId in = pooled.add_value(Role::Input, {{1, 1, 4, 4}}, "x");
  const Pool2dAttrs attrs{.kernel_size = {2, 2}, .strides = {2, 2}};
  const auto outputs = pooled.append(OpKind::MaxPool2d, attrs, {in}, "pool");
  pooled.position.phase = Phase::Gradient;
  const ValueId dx = pooled.append_one(OpKind::MaxPool2dGradient, attrs,
                                       {outputs[0], in, outputs[1]}, "pool");
  const auto units = partition(pooled, {.kept = {dx}}, limits);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].targets, Values{outputs[0]});
  EXPECT_EQ(units[1].feeds, (Values{outputs[0], in}));
}

TEST_F(Partition, LabelsSayWhereAUnitBeginsAndEnds) {
  const auto phases = cut({.kept = {loss, dw, db}});
  EXPECT_EQ(label_of(program, phases[0]), "fc ... mse (forward)");
  EXPECT_EQ(label_of(program, phases[1]), "mse ... fc (gradient)");
  EXPECT_EQ(label_of(program, phases[2]), "fc (update)");
  const auto joined = cut({.kept = {loss}, .joins_phases = true});
  EXPECT_EQ(label_of(program, joined[0]), "fc (forward to update)");
}

}  // namespace
}  // namespace traingraph::metal
