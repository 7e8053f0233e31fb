// SPDX-License-Identifier: MIT
#include "compiler/passes/remove_later_phases.h"

namespace traingraph {

void remove_later_phases(Assembled& a) {
  Program& program = a.program;
  std::vector<bool> is_gone(program.values().size(), false);
  std::vector<NodeId> kept;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    const Node& node = program.node(id);
    if (node.phase == Phase::Forward) {
      kept.push_back(id);
    } else {
      for (ValueId result : node.outputs) is_gone[result] = true;
    }
  }
  program.reorder(kept);
  for (ValueId& value : a.value_of) {
    if (value != kNoValue && is_gone[value]) value = kNoValue;
  }
}

}  // namespace traingraph
