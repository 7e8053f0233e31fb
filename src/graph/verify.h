// SPDX-License-Identifier: MIT
// Invariants of a program, checked after every stage that changes one.
#pragma once

#include "graph/program.h"

namespace traingraph {

/// Nodes are in topological order, every result has one producer, phases never
/// run backwards, mutated inputs are variables, and every shape rule still
/// yields the results that are recorded. Throws InternalError naming the node.
void verify(const Program& program);

}  // namespace traingraph
