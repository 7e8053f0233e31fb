// SPDX-License-Identifier: MIT
// Orders of units and plans of storage, on lowered programs made by hand.
#include "compiler/schedule.h"

#include <gtest/gtest.h>

#include "compiler/plan.h"

namespace traingraph {
namespace {

/// A lowered program whose storage is named by letters. Upper case is
/// persistent, lower case is a result.
class NamedUnits {
 public:
  StorageId storage(char name, std::size_t bytes = 64) {
    const bool is_persistent = name >= 'A' && name <= 'Z';
    const ValueId value = program.add_value(
        is_persistent ? Role::Variable : Role::Result,
        {{static_cast<std::int64_t>(bytes / 4)}}, std::string(1, name));
    lowered.storages.push_back({bytes, value, std::string(1, name)});
    const auto id = static_cast<StorageId>(lowered.storages.size()) - 1;
    lowered.storage_of.push_back(id);
    return id;
  }
  UnitId unit(Phase phase, std::vector<StorageId> reads,
              std::vector<StorageId> writes,
              std::vector<InPlace> in_place = {}) {
    Unit unit;
    unit.phase = phase;
    unit.nodes = {0};
    unit.reads = std::move(reads);
    unit.writes = std::move(writes);
    unit.in_place = std::move(in_place);
    lowered.units.push_back(std::move(unit));
    return static_cast<UnitId>(lowered.units.size()) - 1;
  }
  Plan plan(PlanRequest request = {}) const {
    return make_plan(program, lowered, request);
  }

  Program program;
  LoweredProgram lowered;
};

constexpr auto kForward = Phase::Forward;
constexpr auto kGradient = Phase::Gradient;
constexpr auto kUpdate = Phase::Update;

/// x -> (v) -> h -> (w) -> y; gradients of w, h, v; updates of v and w.
struct TwoMatrices : NamedUnits {
  TwoMatrices() {
    forward_v = unit(kForward, {x, v}, {h});
    forward_w = unit(kForward, {h, w}, {y});
    gradient_w = unit(kGradient, {h, y}, {dw});
    gradient_h = unit(kGradient, {y, w}, {dh});
    gradient_v = unit(kGradient, {x, dh}, {dv});
    update_v = unit(kUpdate, {v, dv}, {v});
    update_w = unit(kUpdate, {w, dw}, {w});
  }
  StorageId x = storage('X'), v = storage('V'), w = storage('W'),
            h = storage('h'), y = storage('y'), dw = storage('d'),
            dh = storage('e'), dv = storage('f');
  UnitId forward_v, forward_w, gradient_w, gradient_h, gradient_v, update_v,
      update_w;
};

TEST(Schedule, PhasesAreInProgramOrder) {
  NamedUnits l;
  const StorageId a = l.storage('A');
  const UnitId u = l.unit(kUpdate, {a}, {a}), f = l.unit(kForward, {a}, {}),
               g = l.unit(kGradient, {a}, {}), f2 = l.unit(kForward, {a}, {});
  EXPECT_EQ(phase_order(l.lowered), (std::vector<UnitId>{f, f2, g, u}));
}

TEST(Schedule, UpdatesFollowTheLastReaderOfTheirParameter) {
  TwoMatrices l;
  // dw exists after gradient_w, but gradient_h still reads w.
  EXPECT_EQ(
      step_order(l.lowered),
      (std::vector<UnitId>{l.forward_v, l.forward_w, l.gradient_w, l.gradient_h,
                           l.update_w, l.gradient_v, l.update_v}));
}

TEST(Schedule, AChainOfUpdateUnitsFollowsAtOnce) {
  NamedUnits l;
  const StorageId p = l.storage('P'), g = l.storage('g'), n = l.storage('n'),
                  s = l.storage('s'), q = l.storage('Q'), k = l.storage('k');
  const UnitId gp = l.unit(kGradient, {p}, {g});
  const UnitId gq = l.unit(kGradient, {q}, {k});
  const UnitId norm = l.unit(kUpdate, {g}, {n});
  const UnitId scale = l.unit(kUpdate, {n}, {s});
  const UnitId update = l.unit(kUpdate, {p, g, s}, {p});
  const UnitId other = l.unit(kUpdate, {q, k}, {q});
  EXPECT_EQ(step_order(l.lowered),
            (std::vector<UnitId>{gp, norm, scale, update, gq, other}));
}

TEST(Schedule, AGlobalNormHoldsAllUpdatesBack) {
  NamedUnits l;
  const StorageId p = l.storage('P'), g = l.storage('g'), n = l.storage('n'),
                  m = l.storage('m'), s = l.storage('s'), q = l.storage('Q'),
                  k = l.storage('k');
  const UnitId gp = l.unit(kGradient, {p}, {g});
  const UnitId gq = l.unit(kGradient, {q}, {k});
  const UnitId np = l.unit(kUpdate, {g}, {n}), nq = l.unit(kUpdate, {k}, {m});
  const UnitId scale = l.unit(kUpdate, {n, m}, {s});
  const UnitId up = l.unit(kUpdate, {p, g, s}, {p});
  const UnitId uq = l.unit(kUpdate, {q, k, s}, {q});
  EXPECT_EQ(step_order(l.lowered),
            (std::vector<UnitId>{gp, np, gq, nq, scale, up, uq}));
}

TEST(Schedule, AnUpdateThatNeedsNothingOfTheStepStillRuns) {
  NamedUnits l;
  const StorageId p = l.storage('P'), g = l.storage('G'), x = l.storage('x');
  const UnitId update = l.unit(kUpdate, {p, g}, {p});
  const UnitId f = l.unit(kForward, {g}, {x});
  EXPECT_EQ(step_order(l.lowered), (std::vector<UnitId>{f, update}));
}

TEST(PlanTest, PersistentStorageIsNotInTheArena) {
  TwoMatrices l;
  const Plan plan = l.plan();
  for (StorageId id : {l.x, l.v, l.w}) {
    EXPECT_EQ(plan.offset_of[id], Plan::kNotInArena);
  }
  for (StorageId id : {l.h, l.y, l.dw, l.dh, l.dv}) {
    EXPECT_LT(plan.offset_of[id], plan.memory.arena_bytes);
  }
}

TEST(PlanTest, AStepLetsGradientsDieEarly) {
  TwoMatrices l;
  const Plan step = l.plan();
  // Alive at gradient_w are h, y, dw, then y, dw, dh, then dh, dv.
  EXPECT_EQ(step.memory.live_peak_bytes, 3 * 64u);
  EXPECT_EQ(step.memory.arena_bytes, 3 * 64u);
  EXPECT_EQ(step.memory.unplanned_bytes, 5 * 64u);
  const Plan phases =
      l.plan({.kind = PlanKind::Phases, .gradients = {l.dv, l.dw}});
  EXPECT_EQ(phases.begin_of[1], 2);
  EXPECT_EQ(phases.begin_of[2], 5);
  EXPECT_EQ(phases.begin_of[3], 7);
  EXPECT_EQ(phases.memory.saved_bytes, 2 * 64u);
  EXPECT_EQ(phases.memory.gradient_bytes, 2 * 64u);
}

TEST(PlanTest, TheGradientBlockIsContiguousAndInOrder) {
  NamedUnits l;
  const StorageId p = l.storage('P'), a = l.storage('a', 100),
                  b = l.storage('b', 64), c = l.storage('c', 4),
                  x = l.storage('x');
  l.unit(kForward, {p}, {x});
  for (StorageId g : {a, b, c}) l.unit(kGradient, {x}, {g});
  for (StorageId g : {a, b, c}) l.unit(kUpdate, {g, p}, {p});
  const Plan plan = l.plan({.kind = PlanKind::Phases, .gradients = {c, a, b}});
  const std::size_t begin = plan.gradient_block.offset;
  EXPECT_EQ(plan.gradient_block.bytes, 64u + 128 + 64);
  EXPECT_EQ(plan.offset_of[c], begin);
  EXPECT_EQ(plan.offset_of[a], begin + 64);
  EXPECT_EQ(plan.offset_of[b], begin + 64 + 128);
  for (const auto& ranges : plan.freed_after) {
    for (const ByteRange& range : ranges) {  // never freed, never poisoned
      EXPECT_TRUE(range.offset >= begin + plan.gradient_block.bytes ||
                  range.offset + range.bytes <= begin);
    }
  }
  EXPECT_EQ(l.plan({.gradients = {c, a, b}}).gradient_block.bytes, 0u);
}

TEST(PlanTest, ReadableValuesOutliveTheRun) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), b = l.storage('b'),
                  c = l.storage('c');
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b});
  l.unit(kForward, {b}, {c});
  EXPECT_EQ(l.plan().memory.arena_bytes, 2 * 64u);
  const Plan plan = l.plan({.readable = {a}});
  EXPECT_NE(plan.offset_of[a], plan.offset_of[c]);
  EXPECT_NE(plan.offset_of[a], plan.offset_of[b]);
  for (const auto& ranges : plan.freed_after) {
    for (const ByteRange& range : ranges) {
      EXPECT_NE(range.offset, plan.offset_of[a]);
    }
  }
}

TEST(PlanTest, AResultTakesOverAnInputThatDies) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), b = l.storage('b'),
                  c = l.storage('c');
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b}, {{b, a}});
  l.unit(kForward, {b}, {c}, {{c, b}});
  const Plan plan = l.plan();
  EXPECT_EQ(plan.offset_of[a], plan.offset_of[b]);
  EXPECT_EQ(plan.offset_of[b], plan.offset_of[c]);
  EXPECT_EQ(plan.memory.arena_bytes, 64u);
  EXPECT_EQ(l.plan({.reuses = false}).memory.arena_bytes, 3 * 64u);
}

TEST(PlanTest, NothingWritesOverWhatIsStillRead) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), b = l.storage('b'),
                  c = l.storage('c'), wide = l.storage('w', 128);
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b}, {{b, a}});        // a is read below
  l.unit(kForward, {a, b}, {c}, {{c, x}});     // x is persistent
  l.unit(kForward, {c}, {wide}, {{wide, c}});  // sizes differ
  const Plan plan = l.plan();
  EXPECT_NE(plan.offset_of[a], plan.offset_of[b]);
  EXPECT_NE(plan.offset_of[c], plan.offset_of[a]);
  EXPECT_NE(plan.offset_of[c], plan.offset_of[b]);
  EXPECT_NE(plan.offset_of[wide], plan.offset_of[c]);
}

TEST(PlanTest, TwoResultsDoNotTakeOverTheSameInput) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), b = l.storage('b'),
                  c = l.storage('c'), d = l.storage('d');
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b, c}, {{b, a}, {c, a}});
  l.unit(kForward, {b, c}, {d});
  const Plan plan = l.plan();
  EXPECT_NE(plan.offset_of[b], plan.offset_of[c]);
}

TEST(PlanTest, PinnedBuffersAreNotTakenOver) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), b = l.storage('b');
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b}, {{b, a}});
  EXPECT_NE(l.plan({.readable = {a}}).offset_of[a],
            l.plan({.readable = {a}}).offset_of[b]);
  const Plan plan = l.plan({.readable = {b}});
  EXPECT_NE(plan.offset_of[a], plan.offset_of[b]);
}

TEST(PlanTest, FreedRangesAreTheOnesThatDied) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a', 64),
                  b = l.storage('b', 192), c = l.storage('c', 4);
  l.unit(kForward, {x}, {a});
  l.unit(kForward, {a}, {b});
  l.unit(kForward, {b}, {c});
  const Plan plan = l.plan();
  ASSERT_EQ(plan.freed_after.size(), 3u);
  EXPECT_TRUE(plan.freed_after[0].empty());
  ASSERT_EQ(plan.freed_after[1].size(), 1u);
  EXPECT_EQ(plan.freed_after[1][0].offset, plan.offset_of[a]);
  EXPECT_EQ(plan.freed_after[1][0].bytes, 64u);
  EXPECT_EQ(plan.freed_after[2].size(), 2u);  // b, and c that nobody reads
}

TEST(PlanTest, ScratchLivesForOneUnit) {
  NamedUnits l;
  const StorageId x = l.storage('X'), a = l.storage('a'), s = l.storage('s'),
                  b = l.storage('b');
  l.unit(kForward, {x}, {a});
  l.lowered.units[0].scratch = {s};
  l.unit(kForward, {a}, {b});
  const Plan plan = l.plan();
  EXPECT_NE(plan.offset_of[s], plan.offset_of[a]);
  EXPECT_EQ(plan.offset_of[s], plan.offset_of[b]);
  EXPECT_EQ(plan.memory.workspace_bytes, 64u);
}

}  // namespace
}  // namespace traingraph
