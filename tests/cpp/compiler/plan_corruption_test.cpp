// SPDX-License-Identifier: MIT
// Plans of random programs, corrupted at random: whatever makes a run go wrong,
// the checker finds. An oracle runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "support/lowered_by_hand.h"
#include "support/plan_oracle.h"

namespace traingraph {
namespace {

using testing::Lowered;
using testing::PlanOracle;

/// The seed is from the environment, or new in every run; each failure prints
/// it.
unsigned corruption_seed() {
  static const unsigned value = [] {
    const char* text = std::getenv("TRAINGRAPH_SEED");
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
                : std::random_device{}();
  }();
  return value;
}

/// Units that read what others have written before, some in place, some with
/// scratch; updates of variables at the end.
struct RandomProgram : Lowered {
  explicit RandomProgram(std::mt19937& random) : random_(random) {
    const int num_variables = 1 + below(3);
    std::vector<StorageId> known;
    for (int i = 0; i < num_variables; ++i) {
      known.push_back(storage("P" + std::to_string(i), size(), Role::Variable));
    }
    const int num_units = 3 + below(14);
    const int gradient_at = 1 + below(num_units);
    for (int i = 0; i < num_units; ++i) {
      add_unit(known, i < gradient_at ? Phase::Forward : Phase::Gradient);
    }
    for (int i = 0; i < num_variables; ++i) {
      const StorageId gradient = known[below(static_cast<int>(known.size()))];
      unit({gradient, i}, {i}, Phase::Update);
      if (gradient >= num_variables) request.gradients.push_back(gradient);
    }
    request.kind = static_cast<PlanKind>(below(2));
    for (StorageId id : known) {
      if (id >= num_variables && below(8) == 0) request.readable.push_back(id);
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % n); }
  std::size_t size() { return std::size_t{1} << (4 + below(5)); }

  void add_unit(std::vector<StorageId>& known, Phase phase) {
    std::vector<StorageId> reads, writes;
    std::vector<InPlace> in_place;
    for (int i = 1 + below(3); i > 0; --i) {
      const auto count = static_cast<int>(known.size());
      const StorageId id = known[std::max(below(count), below(count))];
      if (std::ranges::find(reads, id) == reads.end()) reads.push_back(id);
    }
    for (int i = 1 + (below(4) == 0); i > 0; --i) {
      const StorageId from = reads[below(static_cast<int>(reads.size()))];
      const bool may_replace = below(2) == 0;
      const std::size_t bytes =
          may_replace ? lowered.storages[from].bytes : size();
      const StorageId to =
          storage("r" + std::to_string(lowered.storages.size()), bytes);
      writes.push_back(to);
      const bool is_result =
          program.value(lowered.storages[from].value).role == Role::Result;
      if (may_replace && is_result) in_place.push_back({to, from});
    }
    known.insert(known.end(), writes.begin(), writes.end());
    const UnitId id = unit(reads, writes, phase, in_place);
    if (below(3) == 0) {
      const StorageId scratch =
          storage("s" + std::to_string(lowered.storages.size()), size());
      lowered.units[id].scratch = {scratch};
    }
  }

  std::mt19937& random_;
};

class CorruptedPlans : public ::testing::Test {
 protected:
  /// Corrupts plans of random programs; whatever makes a run go wrong must be
  /// found. Returns how many did.
  template <class Corrupt>
  int count_found(const Corrupt& corrupt) {
    SCOPED_TRACE(::testing::Message()
                 << "TRAINGRAPH_SEED=" << corruption_seed());
    std::mt19937 random(corruption_seed());
    int found = 0;
    for (int round = 0; round < 2000; ++round) {
      SCOPED_TRACE(::testing::Message() << "round " << round);
      RandomProgram p(random);
      const PlanOracle oracle(p.program, p.lowered);
      Plan plan = p.plan();
      EXPECT_EQ(p.check(plan), "");
      EXPECT_TRUE(oracle.runs_right(plan, p.request));
      plan.freed_after.clear();  // the oracle does not poison
      corrupt(p, plan, random);
      const bool is_right = oracle.runs_right(plan, p.request);
      const std::string problem = p.check(plan);
      EXPECT_TRUE(is_right || !problem.empty());
      found += !is_right;
      if (HasFailure()) break;
    }
    return found;
  }
};

TEST_F(CorruptedPlans, AMovedOffsetIsFound) {
  const int found = count_found([](auto& p, Plan& plan, auto& random) {
    std::vector<StorageId> placed;
    for (std::size_t i = 0; i < plan.offset_of.size(); ++i) {
      if (plan.offset_of[i] != Plan::kNotInArena) {
        placed.push_back(static_cast<StorageId>(i));
      }
    }
    if (placed.empty()) return;
    const StorageId id = placed[random() % placed.size()];
    const std::size_t slots = plan.memory.arena_bytes / p.request.alignment;
    plan.offset_of[id] = random() % slots * p.request.alignment;
  });
  EXPECT_GT(found, 100);
}

TEST_F(CorruptedPlans, ASwappedOrderIsFound) {
  const int found = count_found([](auto&, Plan& plan, auto& random) {
    const std::size_t a = random() % plan.order.size();
    const std::size_t b = random() % plan.order.size();
    std::swap(plan.order[a], plan.order[b]);
  });
  EXPECT_GT(found, 100);
}

TEST_F(CorruptedPlans, AShortenedLifetimeIsFound) {
  const int found = count_found([](auto& p, Plan& plan, auto& random) {
    if (plan.lifetimes.empty()) return;
    // Makes the plan of a planner that forgot a reader.
    std::vector<Lifetime> lifetimes = plan.lifetimes;
    Lifetime& shorter = lifetimes[random() % lifetimes.size()];
    if (shorter.last == shorter.first) return;
    shorter.last -=
        1 + static_cast<int>(random()) % (shorter.last - shorter.first);
    shorter.last = std::max(shorter.last, shorter.first);
    const MemoryPlan memory = plan_memory(lifetimes, p.request.alignment);
    const MemoryPlan before = plan_memory(plan.lifetimes, p.request.alignment);
    for (std::size_t i = 0; i < plan.offset_of.size(); ++i) {
      const int lifetime = plan.lifetime_of[i];
      if (lifetime < 0) continue;
      plan.offset_of[i] += memory.offsets[lifetime] - before.offsets[lifetime];
    }
    plan.gradient_block.offset = 0;
    for (std::size_t i = 0; i < plan.offset_of.size(); ++i) {
      if (p.request.gradients.empty() || p.request.kind != PlanKind::Phases) {
        break;
      }
      if (static_cast<StorageId>(i) == p.request.gradients.front()) {
        plan.gradient_block.offset = plan.offset_of[i];
      }
    }
    plan.memory.arena_bytes = memory.arena_bytes;
  });
  EXPECT_GT(found, 50);
}

TEST_F(CorruptedPlans, ADroppedPermissionToComputeInPlaceIsFound) {
  SCOPED_TRACE(::testing::Message() << "TRAINGRAPH_SEED=" << corruption_seed());
  std::mt19937 random(corruption_seed());
  int found = 0;
  for (int round = 0; round < 1000; ++round) {
    RandomProgram p(random);
    const Plan plan = p.plan();
    for (Unit& unit : p.lowered.units) {
      const auto is_used = [&](const InPlace& pair) {
        return plan.offset_of[pair.output] == plan.offset_of[pair.input];
      };
      if (std::ranges::none_of(unit.in_place, is_used)) continue;
      const auto kept = std::exchange(unit.in_place, {});
      ASSERT_NE(p.check(plan), "") << "round " << round;
      unit.in_place = kept;
      ++found;
    }
  }
  EXPECT_GT(found, 100);
}

TEST_F(CorruptedPlans, AShrunkArenaIsFound) {
  std::mt19937 random(corruption_seed());
  for (int round = 0; round < 200; ++round) {
    RandomProgram p(random);
    Plan plan = p.plan();
    if (plan.memory.arena_bytes == 0) continue;
    --plan.memory.arena_bytes;
    ASSERT_NE(p.check(plan), "") << "TRAINGRAPH_SEED=" << corruption_seed();
  }
}

}  // namespace
}  // namespace traingraph
