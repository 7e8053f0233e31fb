// SPDX-License-Identifier: MIT
// The memory planner: exact plans of small inputs, and the invariants on random
// lifetimes.
#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "compiler/place_in_time.h"

namespace traingraph {
namespace {

using Offsets = std::vector<std::size_t>;
using Lifetimes = std::vector<Lifetime>;

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes, std::size_t alignment) {
  while (bytes % alignment != 0) ++bytes;
  return bytes;
}

/// Every invariant by brute force; shares no code with the planner.
void expect_sound(const Lifetimes& lifetimes, const MemoryPlan& plan,
                  std::size_t alignment) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  std::size_t sum = 0, peak = 0;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& a = lifetimes[i];
    const std::size_t bytes = aligned(a.bytes, alignment);
    sum += bytes;
    ASSERT_EQ(plan.offsets[i] % alignment, 0u) << "buffer " << i;
    if (a.bytes == 0) {
      ASSERT_EQ(plan.offsets[i], 0u) << "buffer " << i;
      continue;
    }
    ASSERT_LE(plan.offsets[i] + bytes, plan.arena_bytes) << "buffer " << i;
    std::size_t live = 0;  // where `a` starts
    for (std::size_t j = 0; j < lifetimes.size(); ++j) {
      const Lifetime& b = lifetimes[j];
      if (b.first <= a.first && a.first <= b.last) {
        live += aligned(b.bytes, alignment);
      }
      if (j <= i || b.bytes == 0) continue;
      if (a.last < b.first || b.last < a.first) continue;
      ASSERT_TRUE(plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                  plan.offsets[j] + b.bytes <= plan.offsets[i])
          << "buffers " << i << " and " << j;
    }
    peak = std::max(peak, live);
  }
  ASSERT_EQ(plan.live_peak_bytes, peak);
  ASSERT_GE(plan.arena_bytes, peak);
  ASSERT_LE(plan.arena_bytes, sum);
}

MemoryPlan plan_and_check(const Lifetimes& lifetimes,
                          std::size_t alignment = kAlignment) {
  MemoryPlan plan = plan_memory(lifetimes, alignment);
  expect_sound(lifetimes, plan, alignment);
  return plan;
}

TEST(MemoryPlan, NothingNeedsNothing) {
  const MemoryPlan plan = plan_and_check({});
  EXPECT_EQ(plan.offsets, Offsets{});
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(plan.live_peak_bytes, 0u);
}

TEST(MemoryPlan, ChainAlternatesBetweenTwoSlots) {
  const MemoryPlan plan =
      plan_and_check({{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 64, 0, 64}));
  EXPECT_EQ(plan.arena_bytes, 128u);
  EXPECT_EQ(plan.live_peak_bytes, 128u);
}

TEST(MemoryPlan, LastPositionIsInclusive) {
  const MemoryPlan shared = plan_and_check({{64, 0, 1}, {64, 2, 3}});
  EXPECT_EQ(shared.arena_bytes, 64u);
  const MemoryPlan apart = plan_and_check({{64, 0, 2}, {64, 2, 3}});
  EXPECT_EQ(apart.arena_bytes, 128u);
}

TEST(MemoryPlan, NestedLifetimesStack) {
  // Saved activations: forward makes them, gradient uses them in reverse.
  const MemoryPlan plan =
      plan_and_check({{256, 0, 7}, {128, 1, 6}, {64, 2, 5}, {64, 3, 4}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 256, 384, 448}));
  EXPECT_EQ(plan.arena_bytes, 512u);
}

TEST(MemoryPlan, SmallBuffersShareWhatALargeOneLeft) {
  const MemoryPlan plan =
      plan_and_check({{256, 0, 1}, {128, 2, 3}, {128, 2, 3}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 0, 128}));
  EXPECT_EQ(plan.arena_bytes, 256u);
}

TEST(MemoryPlan, SizesRoundUpToTheAlignment) {
  const MemoryPlan plan = plan_and_check({{65, 0, 0}, {1, 0, 0}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 128}));
  EXPECT_EQ(plan.arena_bytes, 192u);
  EXPECT_EQ(plan.live_peak_bytes, 192u);
  EXPECT_EQ(plan_and_check({{65, 0, 0}, {1, 0, 0}}, 1).arena_bytes, 66u);
  EXPECT_EQ(plan_and_check({{65, 0, 0}, {1, 0, 0}}, 256).arena_bytes, 512u);
}

TEST(MemoryPlan, EmptyBuffersSitAtZero) {
  const MemoryPlan plan =
      plan_and_check({{0, 0, 9}, {64, 0, 1}, {0, 5, 5}, {64, 1, 2}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 0, 0, 64}));
  EXPECT_EQ(plan.arena_bytes, 128u);
}

TEST(MemoryPlan, WithoutReuseEveryBufferHasItsOwnBytes) {
  const Lifetimes lifetimes{{64, 0, 1}, {0, 1, 1}, {65, 2, 3}, {64, 4, 5}};
  const MemoryPlan plan = plan_memory(lifetimes, kAlignment, /*reuses=*/false);
  EXPECT_EQ(plan.offsets, (Offsets{0, 0, 64, 192}));
  EXPECT_EQ(plan.arena_bytes, 256u);
  EXPECT_EQ(plan.live_peak_bytes, 128u);
  expect_sound(lifetimes, plan, kAlignment);
}

/// The smallest arena, by trying every order with lowest-fit placement.
std::size_t optimal_arena(const Lifetimes& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::size_t best = SIZE_MAX;
  do {
    Offsets offsets(order.size());
    std::size_t arena = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Lifetime& l = lifetimes[order[k]];
      std::size_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t j = 0; j < k; ++j) {
          const Lifetime& m = lifetimes[order[j]];
          const std::size_t at = offsets[order[j]];
          const bool together = l.first <= m.last && m.first <= l.last;
          if (together && offset < at + m.bytes && at < offset + l.bytes) {
            offset = at + m.bytes;
            moved = true;
          }
        }
      }
      offsets[order[k]] = offset;
      arena = std::max(arena, offset + l.bytes);
    }
    best = std::min(best, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// The seed is from the environment, or new in every run; each failure prints
/// it.
unsigned seed() {
  static const unsigned value = [] {
    const char* text = std::getenv("TRAINGRAPH_SEED");
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
                : std::random_device{}();
  }();
  return value;
}

Lifetimes random_lifetimes(std::mt19937& random, int count, int length) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const int longest = 1 + below(length);
  const int largest = 1 << below(16);
  Lifetimes result;
  for (int i = 0; i < count; ++i) {
    const int first = below(length);
    const int last = std::min(length - 1, first + below(longest));
    const auto bytes = static_cast<std::size_t>(below(largest));
    result.push_back({below(20) == 0 ? 0 : bytes, first, last});
  }
  return result;
}

TEST(MemoryPlanProperty, RandomLifetimesNeverOverlap) {
  SCOPED_TRACE(testing::Message() << "TRAINGRAPH_SEED=" << seed());
  std::mt19937 random(seed());
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    // Mostly small; a few large ones, where the local search works.
    const int most = round % 100 == 0 ? 200 : 16;
    const int count = static_cast<int>(random() % most);
    const int length = 1 + static_cast<int>(random() % (2 * most));
    const std::size_t alignment = std::size_t{1} << (random() % 9);
    const Lifetimes lifetimes = random_lifetimes(random, count, length);
    const MemoryPlan plan = plan_memory(lifetimes, alignment);
    expect_sound(lifetimes, plan, alignment);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(MemoryPlanProperty, SmallInputsAreOptimal) {
  SCOPED_TRACE(testing::Message() << "TRAINGRAPH_SEED=" << seed());
  std::mt19937 random(seed());
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    Lifetimes lifetimes = random_lifetimes(random, 6, 8);
    for (Lifetime& l : lifetimes) l.bytes = 1 + l.bytes % 9;
    const MemoryPlan plan = plan_memory(lifetimes, 1);
    expect_sound(lifetimes, plan, 1);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(plan.arena_bytes, optimal_arena(lifetimes));
  }
}

/// A training step's shape: activations saved until their gradient, gradients
/// that live briefly, and scratchpads of one position.
Lifetimes training_step(int num_layers, std::mt19937& random) {
  Lifetimes result;
  for (int i = 0; i < num_layers; ++i) {
    const int end = 2 * num_layers - 1;
    const std::size_t bytes = 4 * (1000 + random() % 100000);
    result.push_back({bytes, i, end - i});
    result.push_back({bytes, end - i - 1, end - i});
    result.push_back({bytes / 7, end - i, end - i});
    result.push_back({bytes / 3, i, i});
  }
  return result;
}

TEST(MemoryPlan, LargePlanIsDeterministicTightAndQuick) {
  std::mt19937 random(1);
  const Lifetimes lifetimes = training_step(500, random);
  const auto start = std::chrono::steady_clock::now();
  const MemoryPlan plan = plan_memory(lifetimes, kAlignment);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1e3));
  expect_sound(lifetimes, plan, kAlignment);
  EXPECT_EQ(plan_memory(lifetimes, kAlignment).offsets, plan.offsets);
  EXPECT_LE(plan.arena_bytes, plan.live_peak_bytes * 1.05);
  // 50 ms in an optimised build; slack for sanitizers and busy machines.
  EXPECT_LT(seconds.count(), 2.0);
}

TEST(MemoryPlan, ASmallerBatchLiesWhereTheLargerOneDoes) {
  std::mt19937 random(2);
  const Lifetimes large = training_step(20, random);
  const MemoryPlan model = plan_memory(large, kAlignment);
  Lifetimes small = large;
  for (Lifetime& l : small) l.bytes /= 2;
  const MemoryPlan plan =
      plan_memory(small, kAlignment, /*reuses=*/true,
                  {large, model.offsets, model.arena_bytes});
  expect_sound(small, plan, kAlignment);
  EXPECT_EQ(plan.offsets, model.offsets);
  EXPECT_LE(plan.arena_bytes, model.arena_bytes);
}

TEST(MemoryPlan, OtherBuffersFitIntoTheModelsArena) {
  std::mt19937 random(3);
  const Lifetimes large = training_step(20, random);
  const MemoryPlan model = plan_memory(large, kAlignment);
  for (const int change : {0, 1, 2}) {
    SCOPED_TRACE(change);
    Lifetimes small = large;
    for (Lifetime& l : small) l.bytes /= 2;
    if (change == 0) small.push_back({kAlignment, 3, 4});      // one more
    if (change == 1) small[5].last = 39;                       // lives longer
    if (change == 2) small[5].bytes = large[5].bytes + 10000;  // is larger
    const MemoryPlan plan =
        plan_memory(small, kAlignment, /*reuses=*/true,
                    {large, model.offsets, model.arena_bytes});
    expect_sound(small, plan, kAlignment);
    EXPECT_LE(plan.arena_bytes, model.arena_bytes);
  }
  // What is larger altogether has an arena of its own.
  Lifetimes more = large;
  for (Lifetime& l : more) l.bytes *= 2;
  const MemoryPlan plan =
      plan_memory(more, kAlignment, /*reuses=*/true,
                  {large, model.offsets, model.arena_bytes});
  expect_sound(more, plan, kAlignment);
  EXPECT_LE(plan.arena_bytes, plan.live_peak_bytes * 1.05);
}

TEST(MemoryPlan, ThousandsOfBuffersArePlannedTightAndQuick) {
  std::mt19937 random(1);
  const Lifetimes lifetimes = training_step(50000, random);  // 200,000 buffers
  const auto start = std::chrono::steady_clock::now();
  const MemoryPlan plan = plan_memory(lifetimes, kAlignment);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  EXPECT_LE(plan.arena_bytes, plan.live_peak_bytes * 1.05);
  EXPECT_LT(seconds.count(), 10.0);  // 0.3 s; in the order of size it is hours
}

TEST(PlaceInTime, RandomLifetimesNeverOverlap) {
  SCOPED_TRACE(testing::Message() << "TRAINGRAPH_SEED=" << seed());
  std::mt19937 random(seed());
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const int count = 1 + static_cast<int>(random() % 60);
    Lifetimes lifetimes = random_lifetimes(random, count, 40);
    for (Lifetime& l : lifetimes) l.bytes = aligned(l.bytes + 1, 64);
    MemoryPlan plan;
    const bool is_forwards = round % 2 == 0;  // no better one is looked for
    plan.arena_bytes =
        place_in_time(lifetimes, is_forwards ? SIZE_MAX : 0, plan.offsets);
    plan.live_peak_bytes = plan_memory(lifetimes, 64).live_peak_bytes;
    expect_sound(lifetimes, plan, 64);
    ASSERT_FALSE(HasFatalFailure());
  }
}

}  // namespace
}  // namespace traingraph
