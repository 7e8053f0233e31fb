// SPDX-License-Identifier: MIT
// The order in which units run.
#pragma once

#include <vector>

#include "compiler/target.h"

namespace traingraph {

/// Forward, then gradient, then update units, each in program order.
std::vector<UnitId> phase_order(const LoweredProgram& program);

/// One step: forward and gradient in program order; every update unit as soon
/// as what it reads exists and nobody else will read what it overwrites, so
/// that a gradient dies right after it was made.
std::vector<UnitId> step_order(const LoweredProgram& program);

}  // namespace traingraph
