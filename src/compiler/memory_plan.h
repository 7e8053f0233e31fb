// SPDX-License-Identifier: MIT
// The memory planner: a pure function from lifetimes to offsets.
//
// Problem: buffers live over intervals of a timeline (first, last: inclusive
// positions of the units that touch them). Give each an offset in one arena so
// that no two buffers that live at the same time overlap, and the arena is
// small. A wrong answer trains on garbage silently, so every plan is checked by
// plan_check.h, which knows of no lifetimes.
//
// Example: a 64 bytes [0,1], b 64 [1,2], c 64 [2,3] -> offsets 0, 64, 0 and an
// arena of 128, which is the live peak.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace traingraph {

struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;  // position of the first unit that touches the buffer
  int last = 0;   // and of the last, first <= last
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // one per lifetime; 0 for empty buffers
  std::size_t arena_bytes = 0;
  /// The most (aligned) bytes alive at one position are the lower bound.
  std::size_t live_peak_bytes = 0;
};

/// An arena that is there anyway, made for a larger batch: what fits into it
/// need not be small.
struct ArenaModel {
  std::span<const Lifetime> lifetimes;
  std::span<const std::size_t> offsets;  // one per lifetime
  std::size_t arena_bytes = 0;
};

/// Offsets are multiples of `alignment` (a power of two); sizes are rounded up
/// to it. Deterministic. `reuses` off gives every buffer its own bytes. With a
/// model, its offsets serve where the buffers live as the model's do and are
/// no larger; else the first plan that fits into its arena.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes,
                       std::size_t alignment, bool reuses = true,
                       const ArenaModel& model = {});

}  // namespace traingraph
