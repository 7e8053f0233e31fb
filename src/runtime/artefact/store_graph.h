// SPDX-License-Identifier: MIT
// From a compiled graph to plain data.
#pragma once

#include <vector>

#include "runtime/artefact/stored_graph.h"
#include "runtime/session/session.h"

namespace traingraph {

/// Values that are part of the graph: those that the host has.
struct GraphData {
  std::string name;
  Tensor tensor;
};

struct GraphAndData {
  StoredGraph graph;
  std::vector<GraphData> data;
};

/// The session is locked. `taken`: names of the state in the file, which holds
/// parameters that were given their values anyway when `has_state`. Throws
/// UnsupportedError for what no file can hold.
GraphAndData store_graph(const Session& session,
                         const std::vector<std::string>& taken, bool has_state);

}  // namespace traingraph
