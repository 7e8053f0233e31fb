// SPDX-License-Identifier: MIT
// The independent check of a plan: units are replayed in the plan's order over
// the bytes of the arena, and each must find there what it reads. A planner
// that gives live bytes to another buffer trains on garbage silently, so this
// shares nothing with it: no lifetimes, no buffers, only what the units say
// that they touch.
//
// The replay keeps, range by range, whose contents lie in the arena. It finds
//
//   * a unit that reads bytes that were not written, or that a write to another
//     storage has overwritten since, in any phase;
//   * two storages of one unit that overlap, unless the unit may compute one in
//     place of the other (a later read of the other finds it overwritten);
//   * anything written where the host reads: readable values and the gradient
//     block keep their bytes over the whole timeline, for themselves alone;
//   * an order in which a unit reads the contents of another write than in the
//     program's order: updates before the last reader, say;
//   * offsets that are misaligned or out of the arena, and a gradient block
//     that is not contiguous.
//
// Example: a = f(X), b = g(a), c = h(b), with a, b and c at offset 0, 64, 0:
// fine unless a unit after h reads a.
#pragma once

#include <string>

#include "compiler/plan.h"

namespace traingraph {

/// Returns what is wrong, naming storages and units; empty when the plan is
/// sound.
std::string check_plan(const Program& program, const LoweredProgram& lowered,
                       const Plan& plan, const PlanRequest& request);

}  // namespace traingraph
