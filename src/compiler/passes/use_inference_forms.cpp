// SPDX-License-Identifier: MIT
#include "compiler/passes/use_inference_forms.h"

#include "graph/op_def.h"

namespace traingraph {

void use_inference_forms(Program& program) {
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    Node& node = program.node(id);
    if (node.op->inference_form) node.op->inference_form(node.attrs);
  }
}

}  // namespace traingraph
