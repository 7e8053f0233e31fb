// SPDX-License-Identifier: MIT
// A stored graph as JSON: "graph" in metadata["traingraph"], beside the
// training state.
#pragma once

#include <string>

#include "runtime/artefact/stored_graph.h"
#include "runtime/session/training_state.h"

namespace traingraph {

/// Throws InvalidArgument for names that are not UTF-8.
std::string print_artefact(const TrainingState& state,
                           const StoredGraph& graph);

/// Fills `graph`; every number in it fits its type, and nothing else is
/// checked. Throws std::runtime_error or the like with what is wrong with the
/// text, UnsupportedError for what a later version wrote.
void parse_graph(const std::string& text, StoredGraph& graph);

}  // namespace traingraph
