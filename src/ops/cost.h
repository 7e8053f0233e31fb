// SPDX-License-Identifier: MIT
// What a node costs: the arithmetic it cannot avoid and the bytes it touches.
#pragma once

#include <algorithm>

#include "graph/program.h"

namespace traingraph {

struct NodeCost {
  double flops = 0;  // a multiplication and an addition count as two
  double bytes = 0;  // inputs read and results written once
  /// Relative time on a machine that does 16 operations per byte it moves.
  double weight() const { return std::max(flops, 16 * bytes); }
};

NodeCost estimate_cost(const Program& program, const Node& node);

}  // namespace traingraph
