// SPDX-License-Identifier: MIT
#include "card/graph.h"

#include <cstdlib>

namespace cuda_emulator {
namespace {

void connect_nodes(std::vector<Node>& nodes, int from, int to) {
  nodes[static_cast<std::size_t>(from)].followers.push_back(to);
  ++nodes[static_cast<std::size_t>(to)].num_before;
}

/// Between two nodes that do nothing.
void put_between(std::vector<Node>& nodes, const Graph& child, int begin,
                 int end) {
  const int first = static_cast<int>(nodes.size());
  for (Node& node : flattened(child)) {
    for (int& follower : node.followers) follower += first;
    nodes.push_back(std::move(node));
  }
  const int last = static_cast<int>(nodes.size());
  for (int i = first; i < last; ++i) {
    const Node& node = nodes[static_cast<std::size_t>(i)];
    const bool is_root = node.num_before == 0;
    const bool is_leaf = node.followers.empty();
    if (is_root) connect_nodes(nodes, begin, i);
    if (is_leaf) connect_nodes(nodes, i, end);
  }
  if (first == last) connect_nodes(nodes, begin, end);
}

/// Of each graph the edge that is left out, as tools/cuda_mutants.py asks.
std::size_t edge_left_out() {
  const char* text = std::getenv("TRAINGRAPH_CUDA_EMULATOR_WITHOUT_EDGE");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : ~std::size_t{0};
}

}  // namespace

bool Graph::connect(int from, int to, bool is_programmatic) {
  if (from < 0 || to < 0 || from == to) return false;
  Node& follower = nodes[static_cast<std::size_t>(to)];
  const bool are_kernels =
      nodes[static_cast<std::size_t>(from)].kernel && follower.kernel;
  if (is_programmatic && !are_kernels) return false;
  if (!edges.insert({from, to}).second) return false;
  if (edges.size() - 1 == edge_left_out()) return true;
  if (is_programmatic) follower.must_wait = true;
  connect_nodes(nodes, from, to);
  return true;
}

bool Graph::has_cycle() const {
  std::vector<int> missing, ready;
  for (const Node& node : nodes) missing.push_back(node.num_before);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::size_t num_over = 0;
  for (; !ready.empty(); ++num_over) {
    const Node& node = nodes[static_cast<std::size_t>(ready.back())];
    ready.pop_back();
    for (const int next : node.followers) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return num_over < nodes.size();
}

std::vector<Node> flattened(const Graph& graph) {
  std::vector<Node> nodes = graph.nodes;
  for (const auto& [index, child] : graph.children) {
    // The node itself is the begin.
    Node end;
    Node& begin = nodes[static_cast<std::size_t>(index)];
    end.followers = std::move(begin.followers);
    begin.followers.clear();
    nodes.push_back(std::move(end));
    put_between(nodes, *child, index, static_cast<int>(nodes.size()) - 1);
  }
  return nodes;
}

}  // namespace cuda_emulator
