// SPDX-License-Identifier: MIT
// Plan: one order of units with an address for every storage. Persistent
// storage (inputs, variables, constants) is placed elsewhere; all else gets an
// offset in the plan's arena.
#pragma once

#include <string>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/memory_plan.h"
#include "compiler/target.h"
#include "traingraph/memory.h"

namespace traingraph {

enum class PlanKind { Step, Phases, Inference };
inline constexpr int kNumPlanKinds = 3;

struct Plan;

struct PlanRequest {
  PlanKind kind = PlanKind::Step;
  /// The host sums gradients (Timeline::OneRun): a step goes by phases, too,
  /// and keeps them.
  bool is_one_run = false;
  /// Values readable after the run: they live over the whole timeline.
  std::vector<ValueId> readable = {};
  /// Parameter gradients stand in the order of that block.
  std::vector<ValueId> gradients = {};
  std::size_t alignment = 64;
  bool reuses = true;
  /// This plan may use up the arena of a plan of the same program with more
  /// samples; null: the arena shall be small.
  const Plan* larger = nullptr;

  /// Forward, then gradient, then update; else updates come as soon as they
  /// can.
  bool goes_by_phases() const { return kind != PlanKind::Step || is_one_run; }
  /// Gradients stay until the end, in one block.
  bool keeps_gradients() const {
    return kind == PlanKind::Phases || is_one_run;
  }
};

struct ByteRange {
  std::size_t offset = 0, bytes = 0;
};

struct Plan {
  std::vector<UnitId> order;
  /// order[begin_of[p]] is the first unit of phase p; begin_of[3] is the end.
  /// In a step plan that does not go by phases only begin_of[3] matters.
  int begin_of[4] = {0, 0, 0, 0};
  static constexpr std::size_t kNotInArena = ~std::size_t{0};
  std::vector<std::size_t> offset_of;  // by storage
  /// Indexes `lifetimes` by storage; -1 when not in the arena. Storages that
  /// share one follow each other in place, or lie in the gradient block.
  std::vector<int> lifetime_of;
  ByteRange gradient_block;  // where gradients are kept
  /// Bytes that are dead after each position of `order`.
  std::vector<std::vector<ByteRange>> freed_after;
  std::vector<Lifetime> lifetimes;   // what was planned
  std::vector<std::size_t> offsets;  // where it is; by lifetime
  PlanMemory memory;
};

/// Throws InternalError when the independent checker refuses the plan.
Plan make_plan(const Program& program, const LoweredProgram& lowered,
               const PlanRequest& request);

}  // namespace traingraph
