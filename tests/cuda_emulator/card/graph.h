// SPDX-License-Identifier: MIT
// Graphs, as they are built and as they are launched.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "card/stream.h"

namespace cuda_emulator {

using NodeHandle = const void*;

struct Graph {
  std::vector<Node> nodes;
  std::map<int, std::shared_ptr<const Graph>> children;  // of child nodes
  std::map<NodeHandle, int> by_handle;
  std::set<std::pair<int, int>> edges;

  int add(Node node, NodeHandle handle) {
    nodes.push_back(std::move(node));
    const int index = static_cast<int>(nodes.size()) - 1;
    if (handle != nullptr) by_handle[handle] = index;
    return index;
  }
  int find(NodeHandle handle) const {
    const auto found = by_handle.find(handle);
    return found == by_handle.end() ? -1 : found->second;
  }
  /// False: there is that edge, or it makes no sense.
  bool connect(int from, int to, bool is_programmatic);
  bool has_cycle() const;
};

/// What is launched. Launches share the nodes until one of them is changed.
struct Executable {
  std::shared_ptr<std::vector<Node>> nodes;
  std::map<NodeHandle, int> by_handle;
  std::weak_ptr<Graph> graph;  // whose nodes' handles are ours, too
  int card = 0;
  Over last;
};

/// The nodes of a graph, with its children's in their places.
std::vector<Node> flattened(const Graph& graph);

}  // namespace cuda_emulator
