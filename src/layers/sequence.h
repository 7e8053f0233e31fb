// SPDX-License-Identifier: MIT
// What Graph::node does with a Sequential.
#pragma once

#include <vector>

#include "traingraph/graph.h"
#include "traingraph/layers/sequential.h"

namespace traingraph {

/// Adds a node for each layer; returns the last one's first result. Errors say
/// which layer is theirs; nodes before it stay.
Tensor add_nodes(Graph& graph, const layers::Sequential& chain,
                 std::vector<Tensor> sources, const NodeOptions& options);

}  // namespace traingraph
