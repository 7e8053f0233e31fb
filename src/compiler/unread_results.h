// SPDX-License-Identifier: MIT
// Results that a loss layer might have been meant for: those that nothing
// reads.
#pragma once

#include <vector>

#include "graph/program.h"

namespace traingraph {

/// Nodes of the forward that depend on parameters, one of each layer, of whose
/// results none is `wanted` or read by another layer. `wanted` has an entry for
/// each value.
std::vector<NodeId> find_unread(const Program& program,
                                const std::vector<bool>& wanted);

}  // namespace traingraph
