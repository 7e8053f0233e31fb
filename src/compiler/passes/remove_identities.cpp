// SPDX-License-Identifier: MIT
#include "compiler/passes/remove_identities.h"

#include <numeric>

#include "graph/op_def.h"

namespace traingraph {
namespace {

bool is_identity(const Node& node) {
  return node.op->is_identity && node.op->is_identity(node.attrs);
}

std::vector<bool> stopped_values(const MergedGraph& graph, const Assembled& a) {
  std::vector<bool> is_stopped(a.program.values().size(), false);
  for (TensorIndex tensor : graph.stopped) {
    if (const ValueId v = a.find(tensor); v != kNoValue) is_stopped[v] = true;
  }
  return is_stopped;
}

void become_view(Node& node, const Shape& shape) {
  node.op = &op_def(OpKind::Reshape);
  node.attrs = ShapeAttrs{.shape = shape};
  node.inputs.resize(1);
}

}  // namespace

void remove_identities(const MergedGraph& graph, Assembled& a) {
  Program& program = a.program;
  const std::vector<bool> is_stopped = stopped_values(graph, a);
  std::vector<ValueId> same(program.values().size());
  std::iota(same.begin(), same.end(), 0);
  const auto replace = [&](ValueId& value) {
    if (value != kNoValue) value = same[value];
  };
  std::vector<NodeId> kept;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    Node& node = program.node(id);
    for (ValueId& input : node.inputs) replace(input);
    if (is_identity(node)) {
      const ValueId result = node.outputs[0];
      if (!is_stopped[result]) {
        same[result] = node.inputs[0];
        continue;
      }
      become_view(node, program.shape(result));
    }
    kept.push_back(id);
  }
  program.reorder(kept);
  for (ValueId& value : a.value_of) replace(value);
  for (ValueId& value : a.losses) replace(value);
  replace(a.result);
}

}  // namespace traingraph
