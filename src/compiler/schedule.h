// SPDX-License-Identifier: MIT
// The order in which units run.
#pragma once

#include <vector>

#include "compiler/target.h"

namespace traingraph {

/// Orders forward, then gradient, then update units, each in program order.
std::vector<UnitId> phase_order(const LoweredProgram& program);

/// One step: forward and gradient in program order; every update unit as soon
/// as what it reads exists and no other unit will read what it overwrites, so
/// that a gradient is dead right after it was computed.
std::vector<UnitId> step_order(const LoweredProgram& program);

}  // namespace traingraph
