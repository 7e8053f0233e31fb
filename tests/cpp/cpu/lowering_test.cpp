// SPDX-License-Identifier: MIT
// The lowering's rules: one reorder per value and layout, no stale copy of a
// variable, plain storage for what the host sees, phases that stand alone.
#include <algorithm>
#include <set>

#include "autodiff/gradient.h"
#include "cpu/cpu_target.h"
#include "cpu/kernel_case.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

const Convolution2dAttrs kSame{{1, 1}, {1, 1}, {1, 1, 1, 1}};

/// Every argument is a read, a write or scratch, and what a unit reads was
/// written before or comes from the host.
void expect_sound(const Program& program, const LoweredProgram& lowered) {
  std::set<StorageId> defined;
  for (const ValueId id : {0, 1, 2, 3, 4, 5, 6, 7}) {
    if (id >= static_cast<ValueId>(program.values().size())) break;
    if (program.value(id).role == Role::Result) continue;
    EXPECT_GE(lowered.storage_of[id], 0);
    defined.insert(lowered.storage_of[id]);
  }
  for (const Unit& unit : lowered.units) {
    ASSERT_FALSE(unit.nodes.empty());
    EXPECT_EQ(unit.phase, program.node(unit.nodes[0]).phase);
    std::set<StorageId> known(unit.reads.begin(), unit.reads.end());
    for (const StorageId storage : unit.reads) {
      EXPECT_TRUE(defined.contains(storage));
    }
    known.insert(unit.writes.begin(), unit.writes.end());
    known.insert(unit.scratch.begin(), unit.scratch.end());
    EXPECT_EQ(known, std::set<StorageId>(unit.args.begin(), unit.args.end()));
    defined.insert(unit.writes.begin(), unit.writes.end());
  }
}

TEST(Lowering, KeepsLayoutsBetweenConvolutions) {
  Case test;
  const ValueId x = test.input({2, 32, 8, 8});
  const ValueId w = test.input({32, 32, 3, 3}, Role::Variable);
  Program& program = test.program;
  const auto block = [&](ValueId in) {
    const ValueId y = program.append_one(OpKind::Convolution2d, kSame, {in, w});
    return program.append_one(OpKind::Activation, ActivationAttrs{}, {y});
  };
  const ValueId y = block(block(block(x)));
  const ProgramRun run = test.run({y});
  expect_sound(program, run.lowered());
  // There is at most one for x and w on the way in, and for y on the way out.
  EXPECT_LE(run.num_reorders(), 3);
  EXPECT_GE(run.lowered().storage_of[y], 0);
}

// oneDNN's first choice for strided input gradients has channels last.
TEST(Lowering, KeepsLayoutsBetweenGradientsOfStridedConvolutions) {
  const auto num_reorders = [](std::int64_t stride) {
    Case test;
    const ValueId x = test.input({2, 32, 16, 16});
    Program& program = test.program;
    ValueId y = x;
    std::vector<ValueId> wanted{x};
    for (const std::int64_t each : {std::int64_t{1}, stride, std::int64_t{1}}) {
      const ValueId w = test.input({32, 32, 3, 3}, Role::Variable);
      wanted.push_back(w);
      y = program.append_one(
          OpKind::Convolution2d,
          Convolution2dAttrs{{each, each}, {1, 1}, {1, 1, 1, 1}},
          {y, w, kNoValue});
    }
    const ValueId seed = test.input(program.shape(y));
    program.position.phase = Phase::Gradient;
    const GradientMap map = differentiate(
        program, {.seeds = {{y, seed}}, .wanted = wanted, .stopped = {}});
    std::vector<ValueId> kept;
    for (const ValueId value : wanted) kept.push_back(map.at(value));
    return test.run(kept).num_reorders();
  };
  EXPECT_LE(num_reorders(2), num_reorders(1));
}

TEST(Lowering, ReordersAVariableAgainAfterItsUpdate) {
  Case test;
  const ValueId x = test.input({2, 32, 8, 8});
  const ValueId w = test.input({32, 32, 3, 3}, Role::Variable);
  const ValueId g = test.input({32, 32, 3, 3});
  const ValueId hyperparameters = test.program.add_value(
      Role::Input, {{4}, DataType::Float32}, "hyperparameters");
  test.data.emplace_back(hyperparameters, Floats{1, 1, 0, 0});
  Program& program = test.program;
  const ValueId before =
      program.append_one(OpKind::Convolution2d, kSame, {x, w});
  const ValueId view =
      program.append_one(OpKind::Reshape, ShapeAttrs{{-1}}, {w});
  program.position.phase = Phase::Update;
  program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                 {w, g, kNoValue, hyperparameters, kNoValue});
  program.position.phase = Phase::Forward;
  const ValueId after =
      program.append_one(OpKind::Convolution2d, kSame, {x, w});
  ProgramRun run = test.run({before, after, view});
  expect_sound(program, run.lowered());

  Floats updated = test.values(1);
  EXPECT_EQ(run.get(view), updated) << "a view must not see the update";
  for (std::size_t i = 0; i < updated.size(); ++i) {
    updated[i] -= test.values(2)[i];
  }
  EXPECT_EQ(run.get(w), updated);
  const Floats with_update = run.get(after);
  EXPECT_NE(run.get(before), with_update);
  run.set(w, updated);
  run.run();
  EXPECT_EQ(run.get(before), with_update);
}

TEST(Lowering, GradientReordersDoNotServeForward) {
  Case test;
  const ValueId x = test.input({2, 32, 8, 8});
  const ValueId w = test.input({32, 32, 3, 3}, Role::Variable);
  Program& program = test.program;
  program.position.phase = Phase::Gradient;
  const ValueId late = program.append_one(OpKind::Convolution2d, kSame, {x, w});
  program.position.phase = Phase::Forward;
  const ValueId y = program.append_one(OpKind::Convolution2d, kSame, {x, w});
  const ProgramRun run = test.run({y, late});
  std::set<StorageId> defined{run.lowered().storage_of[x],
                              run.lowered().storage_of[w]};
  for (const Unit& unit : run.lowered().units) {
    if (unit.phase != Phase::Forward) continue;
    for (const StorageId storage : unit.reads) {
      EXPECT_TRUE(defined.contains(storage));
    }
    defined.insert(unit.writes.begin(), unit.writes.end());
  }
}

TEST(Lowering, ReshapeSharesStorage) {
  Case test;
  const ValueId x = test.input({4, 6});
  const ValueId y =
      test.program.append_one(OpKind::Reshape, ShapeAttrs{{8, 3}}, {x});
  const ProgramRun run = test.run({y});
  EXPECT_TRUE(run.lowered().units.empty());
  EXPECT_EQ(run.lowered().storage_of[x], run.lowered().storage_of[y]);
  EXPECT_EQ(run.get(y), test.values(0));
}

}  // namespace
}  // namespace traingraph::testing
