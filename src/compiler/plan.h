// SPDX-License-Identifier: MIT
// Plan: one order of units with an address for every storage. Persistent
// storage (inputs, variables, constants) is placed elsewhere; all else gets an
// offset in the plan's arena.
#pragma once

#include <string>
#include <vector>

#include "compiler/memory_plan.h"
#include "compiler/target.h"
#include "traingraph/memory.h"

namespace traingraph {

enum class PlanKind { Step, Phases, Inference };

struct PlanRequest {
  PlanKind kind = PlanKind::Step;
  /// Values readable after the run: they live over the whole timeline.
  std::vector<ValueId> readable = {};
  /// Parameter gradients, in order. The phase plan puts them in one block that
  /// lives over the whole timeline.
  std::vector<ValueId> gradients = {};
  std::size_t alignment = 64;
  bool reuses = true;
};

struct ByteRange {
  std::size_t offset = 0, bytes = 0;
};

struct Plan {
  std::vector<UnitId> order;
  /// order[begin_of[p]] is the first unit of phase p; begin_of[3] is the end.
  /// In a step plan updates are interleaved and only begin_of[3] matters.
  int begin_of[4] = {0, 0, 0, 0};
  static constexpr std::size_t kNotInArena = ~std::size_t{0};
  std::vector<std::size_t> offset_of;  // by storage
  /// Index in `lifetimes`, -1 when not in the arena; by storage. Storages that
  /// share one follow each other in place, or lie in the gradient block.
  std::vector<int> lifetime_of;
  ByteRange gradient_block;  // phase plan only
  /// Bytes that are dead after each position of `order`.
  std::vector<std::vector<ByteRange>> freed_after;
  std::vector<Lifetime> lifetimes;  // what was planned, for pictures and tests
  PlanMemory memory;
};

/// Throws InternalError when the independent checker refuses the plan.
Plan make_plan(const Program& program, const LoweredProgram& lowered,
               const PlanRequest& request);

}  // namespace traingraph
