// SPDX-License-Identifier: MIT
// The part of check_plan() that concerns Storage::is_read_at_end. It shares
// nothing with the planner.
#pragma once

#include <string>

#include "compiler/plan.h"

namespace traingraph {

/// Returns an error unless the bytes of every such storage stay as they were
/// written until the run is over; empty is sound.
std::string check_ends(const LoweredProgram& lowered, const Plan& plan,
                       PlanKind kind);

}  // namespace traingraph
