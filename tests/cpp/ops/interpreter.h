// SPDX-License-Identifier: MIT
// Runs a program in float64, one plain loop per op, to judge gradient rules
// without any device. Covers the ops that gradients are composed of.
#pragma once

#include <vector>

#include "graph/program.h"

namespace traingraph::testing {

/// Contents of every value, row-major; Booleans are 0 and 1.
using Contents = std::vector<std::vector<double>>;

/// Runs all nodes; `contents` holds the values that no node produces.
void interpret(const Program& program, Contents& contents);

}  // namespace traingraph::testing
