// SPDX-License-Identifier: MIT
// Drops nodes whose results are not read.
//
//   before: a = f(x); b = g(x); out = h(a)      kept {out}
//   after:  a = f(x);           out = h(a)
#pragma once

#include <span>

#include "graph/program.h"

namespace traingraph {

/// Does the node write any of its inputs? Such ones are never dead.
bool mutates_anything(const Node& node);

/// Nodes that mutate a variable stay. `kept` may contain kNoValue.
void remove_dead_nodes(Program& program, std::span<const ValueId> kept);

}  // namespace traingraph
