// SPDX-License-Identifier: MIT
// The part of check_plan() that concerns prepared units, which later runs leave
// out. It shares nothing with the planner, nor with what marks them.
#pragma once

#include <string>

#include "compiler/plan.h"

namespace traingraph {

/// Returns an error unless what a prepared unit writes depends on variables and
/// constants alone that no unit writes, and stays as it is where others read
/// it; empty is sound.
std::string check_prepared(const Program& program,
                           const LoweredProgram& lowered, const Plan& plan);

}  // namespace traingraph
