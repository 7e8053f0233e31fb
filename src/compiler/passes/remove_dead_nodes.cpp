// SPDX-License-Identifier: MIT
#include "compiler/passes/remove_dead_nodes.h"

#include <algorithm>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {

bool mutates_anything(const Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (node.inputs[i] != kNoValue && mutates(node, i)) return true;
  }
  return false;
}

void remove_dead_nodes(Program& program, std::span<const ValueId> kept) {
  std::vector<bool> is_live(program.values().size(), false);
  for (ValueId value : kept) {
    if (value != kNoValue) is_live[value] = true;
  }
  std::vector<NodeId> order;
  for (auto id = static_cast<NodeId>(program.nodes().size()) - 1; id >= 0;
       --id) {
    const Node& node = program.node(id);
    const bool is_read = std::ranges::any_of(
        node.outputs, [&](ValueId v) { return is_live[v]; });
    if (!is_read && !mutates_anything(node)) continue;
    for (ValueId input : node.inputs) {
      if (input != kNoValue) is_live[input] = true;
    }
    order.push_back(id);
  }
  std::ranges::reverse(order);
  program.reorder(order);
}

}  // namespace traingraph
