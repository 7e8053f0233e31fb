// SPDX-License-Identifier: MIT
// Checks of buckets that share nothing with the code that makes them.
#pragma once

#include <string>

#include "compiler/plan.h"

namespace traingraph {

/// Each gradient is in one bucket, which is sent after all that touches it and
/// waited for before all that updates by it. Returns the first problem; empty
/// when there is none.
std::string check_buckets(const LoweredProgram& lowered, const Plan& plan,
                          const PlanRequest& request);

}  // namespace traingraph
