// SPDX-License-Identifier: MIT
// Updates that leave all but a few rows of a parameter as they are. The
// gradient of an embedding is 0 in rows that were not looked up, and the update
//   p -= rate * clip(g) * rescale
// of gradient 0 is none, bit by bit. So gradient and update may be one piece of
// work on the rows that were looked up. It writes no gradient: only where
// nobody reads that, in a step that runs as one.
//
// Not so with momentum, Adam or RMSProp, whose slots decay in every row and
// move it; with weight decay, which shrinks every row; with clipping by norm,
// which reads the gradient; or with limits that exclude 0.
#pragma once

#include <span>
#include <vector>

#include "graph/program.h"

namespace traingraph {

struct RowUpdate {
  NodeId gradient, update;
};

/// The host reads `kept`.
std::vector<RowUpdate> find_row_updates(const Program& program,
                                        std::span<const ValueId> kept);

}  // namespace traingraph
