// SPDX-License-Identifier: MIT
// Picture of a graph as Graphviz text.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "layers/graph_state.h"

namespace traingraph {

/// Boxes are layers (and single ops) with name and result shapes, ellipses
/// tensors from outside, edges tensors; edges of tensors in `stopped`, where
/// the gradient stops, are dashed. The caller holds the graph's mutex.
std::string dot_description(
    const GraphState& graph,
    const std::unordered_set<std::uint64_t>& stopped = {});

}  // namespace traingraph
