// SPDX-License-Identifier: MIT
// Updates of a few rows of a parameter. The gradient of an embedding is 0 in
// rows that were not looked up, so gradient and update may be one piece of work
// on the rows that were. It writes no gradient: only where nobody reads that,
// in a step that runs as one.
//
// What becomes of the other rows depends on the update. Where
//   p -= rate * clip(g) * rescale
// a gradient of 0 changes nothing, bit by bit, and they are as they should be.
// With momentum, Adam, RMSProp and weight decay they move by themselves: they
// are left behind, and catch up, step by step as they would have moved, before
// anybody reads them. A step reads the rows that it looks up, so nothing else
// in it may read the parameter. Clipping by norm reads the gradient.
#pragma once

#include <span>
#include <vector>

#include "graph/program.h"

namespace traingraph {

/// By an optimizer's rule; its input 1 is the gradient.
bool is_update(const Node& node);

struct RowUpdate {
  NodeId gradient, update;
  /// The node that reads the parameter, if rows are left behind; else -1.
  NodeId lookup = -1;
};

/// The host reads `kept`.
std::vector<RowUpdate> find_row_updates(const Program& program,
                                        std::span<const ValueId> kept);

}  // namespace traingraph
