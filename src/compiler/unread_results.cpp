// SPDX-License-Identifier: MIT
#include "compiler/unread_results.h"

#include <algorithm>
#include <map>

namespace traingraph {
namespace {

/// The layer of a node, or the node itself, below 0.
int owner_of(const Program& program, NodeId id) {
  const int layer = program.node(id).layer;
  return layer >= 0 ? layer : -1 - static_cast<int>(id);
}

/// By value: does it depend on a parameter?
std::vector<bool> follow_parameters(const Program& program) {
  std::vector<bool> follows(program.values().size(), false);
  for (std::size_t v = 0; v < follows.size(); ++v) {
    follows[v] = program.values()[v].role == Role::Variable;
  }
  for (const Node& node : program.nodes()) {
    const bool any = std::ranges::any_of(
        node.inputs, [&](ValueId v) { return v >= 0 && follows[v]; });
    for (const ValueId output : node.outputs) follows[output] = any;
  }
  return follows;
}

}  // namespace

std::vector<NodeId> find_unread(const Program& program,
                                const std::vector<bool>& wanted) {
  const std::vector<bool> follows = follow_parameters(program);
  std::map<int, bool> is_read;  // by owner
  const auto count = static_cast<NodeId>(program.nodes().size());
  for (NodeId id = 0; id < count; ++id) {
    const Node& node = program.node(id);
    const int owner = owner_of(program, id);
    for (const ValueId input : node.inputs) {
      const NodeId maker = input < 0 ? -1 : program.value(input).producer;
      if (maker < 0 || owner_of(program, maker) == owner) continue;
      is_read[owner_of(program, maker)] = true;
    }
    for (const ValueId output : node.outputs) {
      if (wanted[output]) is_read[owner] = true;
    }
    if (node.phase != Phase::Forward) is_read[owner] = true;
  }
  std::vector<NodeId> unread;
  for (NodeId id = 0; id < count; ++id) {
    bool& is_known = is_read[owner_of(program, id)];
    if (is_known || !follows[program.node(id).outputs.front()]) continue;
    unread.push_back(id);
    is_known = true;
  }
  return unread;
}

}  // namespace traingraph
