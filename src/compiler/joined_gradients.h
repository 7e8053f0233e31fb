// SPDX-License-Identifier: MIT
// Gradients that the update computes itself, on its way over the parameter, so
// that they are never in memory:
//   * the gradient of an embedding, which is row-sparse: 0 in all rows that the
//     step did not look up;
//   * a range of a gradient, where an update takes a part of a parameter.
//
//   before: g = embedding_gradient(dy, ids); update(table, g)
//   after:  embedding_gradient+update(table, dy, ids)
//
// Legal when neither a node nor the host reads the gradient besides; that of an
// embedding belongs to another phase, so only in a step that runs as one.
#pragma once

#include <span>
#include <vector>

#include "graph/program.h"

namespace traingraph {

/// The nodes that compute such gradients, in the order of their updates. The
/// host reads `kept`; `joins_phases`: the program runs as one step.
std::vector<NodeId> find_joined_gradients(const Program& program,
                                          std::span<const ValueId> kept,
                                          bool joins_phases);

}  // namespace traingraph
