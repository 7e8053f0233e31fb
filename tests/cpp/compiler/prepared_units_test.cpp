// SPDX-License-Identifier: MIT
// What depends on variables and constants alone is marked, and kept by plans;
// what the checker says of plans that do not keep it.
#include "compiler/prepared_units.h"

#include <gtest/gtest.h>

#include "support/lowered_by_hand.h"

namespace traingraph {
namespace {

using testing::Lowered;

/// w -> a -> b; x, b -> y -> z. What fills f, and reads it.
class PreparedUnits : public ::testing::Test, protected Lowered {
 protected:
  PreparedUnits() {
    unit({w}, {a});
    unit({a}, {b});
    unit({x, b}, {y});
    unit({y}, {z});
    request.kind = PlanKind::Inference;
    request.readable = {z};
  }
  std::vector<bool> marked() {
    mark_prepared(program, lowered);
    std::vector<bool> marks;
    for (const Unit& each : lowered.units) marks.push_back(each.is_prepared);
    return marks;
  }
  bool is_kept(StorageId id) const { return lowered.storages[id].is_kept; }
  void expect(const Plan& plan, const std::string& part) const {
    EXPECT_NE(check(plan).find(part), std::string::npos) << check(plan);
  }
  using Marks = std::vector<bool>;

  StorageId w = storage("W", 64, Role::Variable),
            x = storage("X", 64, Role::Input), a = storage("a"),
            b = storage("b"), y = storage("y"), z = storage("z"),
            f = storage("f"), g = storage("g");
};

TEST_F(PreparedUnits, AreThoseThatReadVariablesAndConstantsAlone) {
  EXPECT_EQ(marked(), (Marks{true, true, false, false}));
  EXPECT_TRUE(is_kept(b));
  EXPECT_FALSE(is_kept(a));  // for b alone
  EXPECT_FALSE(is_kept(w));
  const Plan good = plan();
  EXPECT_EQ(check(good), "");
  const Lifetime& lifetime = good.lifetimes[good.lifetime_of[b]];
  EXPECT_EQ(lifetime.first, 0);
  EXPECT_EQ(lifetime.last, 3);
}

TEST_F(PreparedUnits, AreNoneThatReadWhatTheProgramWrites) {
  unit({x, w}, {w});  // an update, or a state
  EXPECT_EQ(marked(), (Marks{false, false, false, false, false}));
}

TEST_F(PreparedUnits, ChangeNoVariable) {
  const StorageId v = storage("V", 64, Role::Variable);
  unit({w}, {v});
  EXPECT_EQ(marked(), (Marks{true, true, false, false, false}));
}

TEST_F(PreparedUnits, AreTheOnlyWritersOfTheirResults) {
  unit({y}, {b});
  EXPECT_EQ(marked(), (Marks{true, false, false, false, false}));
}

TEST_F(PreparedUnits, LeaveFillsToTheRunsThatReadThem) {
  unit({}, {f});
  unit({f, w}, {g});
  EXPECT_EQ(marked(), (Marks{true, true, false, false, true, true}));
  unit({f, y}, {storage("h")});
  EXPECT_EQ(marked(), (Marks{true, true, false, false, false, true, false}));
  EXPECT_EQ(check(plan()), "");
}

TEST_F(PreparedUnits, HaveResultsThatNobodyElseMayOverwrite) {
  marked();
  const Plan good = plan();
  Plan bad = good;
  bad.offset_of[y] = bad.offset_of[a];
  EXPECT_EQ(check(bad), "");
  bad.offset_of[a] = bad.offset_of[b];
  EXPECT_NE(check(bad), "");
  // After the last reader: fine in one run, not in the next one.
  bad = good;
  bad.offset_of[z] = bad.offset_of[b];
  request.readable = {};
  expect(bad, "\"b\" is kept, but storage 5 \"z\" has its bytes");
  bad = good;
  bad.freed_after[3].push_back({bad.offset_of[b], 64});
  expect(bad, "\"b\" is kept, but freed");
}

TEST_F(PreparedUnits, AreCheckedByWhatTheyReadAndWhoReadsThem) {
  marked();
  lowered.storages[b].is_kept = false;
  EXPECT_THROW(plan(), InternalError);
  lowered.storages[b].is_kept = true;
  lowered.units[3].is_prepared = true;  // it reads y
  EXPECT_THROW(plan(), InternalError);
}

}  // namespace
}  // namespace traingraph
