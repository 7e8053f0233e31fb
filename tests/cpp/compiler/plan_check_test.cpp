// SPDX-License-Identifier: MIT
// The checker of plans: what it says of small plans that are wrong by hand.
#include "compiler/plan_check.h"

#include <gtest/gtest.h>

#include "support/lowered_by_hand.h"

namespace traingraph {
namespace {

using testing::Lowered;

/// x -> a -> b -> c, and d = f(a, c).
class PlanCheck : public ::testing::Test, protected Lowered {
 protected:
  PlanCheck() {
    unit({x}, {a});
    unit({a}, {b});
    unit({b}, {c});
    unit({a, c}, {d});
    request.readable = {d};
    good = plan();
    good.freed_after.clear();
  }
  void expect(const Plan& plan, const std::string& part) const {
    EXPECT_NE(check(plan).find(part), std::string::npos) << check(plan);
  }

  StorageId x = storage("X", 64, Role::Variable), a = storage("a"),
            b = storage("b"), c = storage("c"), d = storage("d"),
            e = storage("e");  // e is for tests
  Plan good;
};

TEST_F(PlanCheck, AGoodPlanIsFine) { EXPECT_EQ(check(good), ""); }

TEST_F(PlanCheck, NamesWhoReadsWhatSomebodyElseOverwrote) {
  Plan bad = good;
  bad.offset_of[b] = bad.offset_of[d];  // d is the host's, whole timeline
  expect(bad, "unit 1 writes storage 2 \"b\"");
  expect(bad, "storage 4 \"d\"");
  bad = good;
  bad.offset_of[b] = bad.offset_of[a];
  expect(bad, "unit 1 touches storage 1 \"a\"");
  unit({a}, {e});
  bad.memory.arena_bytes = 320;
  bad.offset_of = {Plan::kNotInArena, 0, 64, 0, 128, 256};
  bad.order.push_back(4);
  ++bad.begin_of[3];
  lowered.units[3].reads = {c};
  expect(bad, "unit 4 reads storage 1 \"a\"");
  expect(bad, "have gone to storage 3 \"c\"");
  expect(bad, "of unit 2");
}

TEST_F(PlanCheck, WhatIsReadAtTheEndStaysUntilThen) {
  lowered.units[3].scratch = {e};
  EXPECT_EQ(good.lifetimes[good.lifetime_of[b]].last, 2);
  lowered.storages[b].is_read_at_end = true;
  Plan late = plan();
  EXPECT_EQ(check(late), "");
  EXPECT_EQ(late.lifetimes[late.lifetime_of[b]].first, 1);
  EXPECT_EQ(late.lifetimes[late.lifetime_of[b]].last, 3);
  Plan bad = late;
  bad.freed_after.clear();
  bad.offset_of[e] = bad.offset_of[b];
  expect(bad, "\"b\" is read when its run is over");
  bad = late;
  bad.freed_after.assign(4, {});
  bad.freed_after[2] = {{bad.offset_of[b], 64}};
  expect(bad, "\"b\" is read when its run is over");
}

TEST_F(PlanCheck, FindsPartialOverlaps) {
  lowered.storages[b].bytes = 128;
  request.alignment = 32;
  Plan bad = good;
  bad.memory.arena_bytes = 1024;
  bad.offset_of = {Plan::kNotInArena, 0, 512, 256, 768, Plan::kNotInArena};
  ASSERT_EQ(check(bad), "");
  for (const std::size_t offset : {32, 0}) {
    bad.offset_of[b] = offset;
    expect(bad, "unit 1 touches storage");
  }
  bad.offset_of[b] = 224;  // and c at 256
  expect(bad, "unit 2 touches storage");
}

TEST_F(PlanCheck, ResultsDoNotOverlapWhatIsReadUnlessInPlace) {
  Plan bad = good;
  bad.offset_of[c] = bad.offset_of[b];
  expect(bad, "unit 2 touches storage");
  lowered.units[2].in_place = {{c, b}};
  EXPECT_EQ(check(bad), "");
  lowered.units[2].in_place = {};
  lowered.units[1].in_place = {{b, a}};  // unit 3 still reads a
  bad = good;
  bad.offset_of[b] = bad.offset_of[a];
  expect(bad, "unit 3 reads storage 1 \"a\"");
}

TEST_F(PlanCheck, TwoResultsDoNotTakeOneInput) {
  lowered.units[3].writes = {b, d};
  lowered.units[3].in_place = {{b, a}, {d, a}};
  lowered.units[1].writes = {c};  // a -> c, b anew
  lowered.units[2].reads = {x};
  lowered.units[2].writes = {c};
  request.readable = {};
  Plan bad = good;
  bad.memory.arena_bytes = 256;
  bad.offset_of = {Plan::kNotInArena, 0, 0, 64, 0, Plan::kNotInArena};
  expect(bad, "unit 3 touches storage");
}

TEST_F(PlanCheck, OffsetsAreAlignedAndInTheArena) {
  Plan bad = good;
  bad.memory.arena_bytes = 4096;
  bad.offset_of[b] = 1000;
  expect(bad, "no multiple of 64");
  bad.offset_of[b] = 4096;
  expect(bad, "outside of the arena of 4096");
  bad.offset_of[b] = SIZE_MAX - 127;
  expect(bad, "outside of the arena of 4096");
  bad.offset_of[b] = Plan::kNotInArena;
  expect(bad, "has no place");
  bad = good;
  bad.memory.arena_bytes -= 64;
  expect(bad, "outside of the arena");
  bad = good;
  bad.offset_of[x] = 0;
  expect(bad, "persistent");
  bad = good;
  bad.offset_of.pop_back();
  expect(bad, "5 offsets: expected 6");
}

TEST_F(PlanCheck, EveryUnitRunsOnce) {
  Plan bad = good;
  bad.order[1] = 0;
  expect(bad, "unit 0 is ordered twice");
  bad = good;
  bad.order.pop_back();
  expect(bad, "unit 3 is not ordered");
  bad = good;
  bad.order[0] = 7;
  expect(bad, "names unit 7");
}

TEST_F(PlanCheck, UnitsSeeTheWritesOfTheProgram) {
  Plan bad = good;
  std::swap(bad.order[1], bad.order[2]);
  expect(bad, "unit 2 reads storage 2");
  // A variable that is changed after its last reader.
  unit({x}, {x}, Phase::Update);
  bad = plan();
  ASSERT_EQ(check(bad), "");
  ASSERT_EQ(bad.order[1], 4);  // at once after the last reader
  std::swap(bad.order[0], bad.order[1]);
  expect(bad, "unit 0 reads storage 0 \"X\" as unit 4 left it");
}

TEST_F(PlanCheck, TheHostFindsWhatItReads) {
  request.readable = {a};
  Plan bad = plan();
  bad.freed_after.clear();
  ASSERT_EQ(check(bad), "");
  bad.offset_of[d] = bad.offset_of[a];
  EXPECT_NE(check(bad), "");
  request.readable = {a, b};
  bad = good;
  bad.offset_of = {Plan::kNotInArena, 0, 0, 128, 192, Plan::kNotInArena};
  bad.memory.arena_bytes = 256;
  expect(bad, "which overlap");
}

TEST_F(PlanCheck, FreedBytesAreDead) {
  Plan bad = good;
  bad.freed_after.assign(4, {});
  bad.freed_after[1] = {{bad.offset_of[a], 64}};
  expect(bad, "unit 3 reads storage 1 \"a\"");
  expect(bad, "were freed");
  bad.freed_after.assign(4, {});
  bad.freed_after[3] = {{bad.offset_of[d], 64}};
  expect(bad, "which the host reads");
}

// An update reads it that waits for the others of its phase.
TEST(PlanCheckPhases, WhatIsReadAtTheEndStaysThroughTheReadersPhase) {
  Lowered l;
  const StorageId p = l.storage("P", 64, Role::Variable), x = l.storage("x"),
                  s = l.storage("s"), e = l.storage("e");
  l.unit({p}, {x});
  l.unit({x}, {s}, Phase::Gradient);
  l.unit({s, p}, {p}, Phase::Update);
  l.unit({p}, {e}, Phase::Update);
  l.request = {.kind = PlanKind::Phases};
  l.lowered.storages[s].is_read_at_end = true;
  const Plan good = l.plan();
  ASSERT_EQ(l.check(good), "");
  EXPECT_EQ(good.lifetimes[good.lifetime_of[s]].last, 3);
  Plan bad = good;
  bad.freed_after.clear();
  bad.offset_of[e] = bad.offset_of[s];
  EXPECT_NE(l.check(bad).find("\"s\" is read when its run is over"),
            std::string::npos)
      << l.check(bad);
}

TEST(PlanCheckPhases, ValuesThatCrossPhasesAndGradientsStay) {
  Lowered l;
  const StorageId p = l.storage("P", 64, Role::Variable), x = l.storage("x"),
                  y = l.storage("y"), g = l.storage("g", 100),
                  h = l.storage("h");
  l.unit({p}, {x});
  l.unit({x}, {y});
  l.unit({x}, {g}, Phase::Gradient);
  l.unit({y}, {h}, Phase::Gradient);
  l.unit({g, p}, {p}, Phase::Update);
  l.unit({h, p}, {p}, Phase::Update);
  l.request = {.kind = PlanKind::Phases, .gradients = {g, h}};
  const Plan good = l.plan();
  ASSERT_EQ(l.check(good), "");
  const auto says = [&](const Plan& bad, const std::string& part) {
    return l.check(bad).find(part) != std::string::npos;
  };
  Plan bad = good;  // y passes from forward to gradient
  bad.offset_of[y] = bad.offset_of[g];
  bad.freed_after.clear();
  EXPECT_TRUE(says(bad, "storage 2 \"y\"")) << l.check(bad);
  bad = good;
  std::swap(bad.offset_of[g], bad.offset_of[h]);
  EXPECT_TRUE(says(bad, "where the block goes on")) << l.check(bad);
  bad = good;
  bad.gradient_block.bytes -= 64;
  EXPECT_TRUE(says(bad, "the gradient block has")) << l.check(bad);
  bad = good;
  std::swap(bad.order[1], bad.order[2]);
  EXPECT_TRUE(says(bad, "runs in phase")) << l.check(bad);
  bad = good;
  --bad.begin_of[1];
  EXPECT_TRUE(says(bad, "runs in phase")) << l.check(bad);
}

}  // namespace
}  // namespace traingraph
