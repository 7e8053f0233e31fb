// SPDX-License-Identifier: MIT
#include "graph/verify.h"

#include <vector>

#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

[[noreturn]] void fail(const Node& node, const std::string& what) {
  throw InternalError(
      ErrorInfo{.op = node.op->name, .node = node.name, .what = what});
}

void verify_shapes(const Program& program, const Node& node) {
  ShapeContext context(program, *node.op, node.attrs, node.inputs, node.name);
  node.op->shape_rule(context);
  const auto results = context.take_results();
  if (results.size() != node.outputs.size()) fail(node, "wrong result count");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value& value = program.value(node.outputs[i]);
    const bool agrees = results[i].is_opaque == value.is_opaque &&
                        (value.is_opaque || results[i].desc == value.desc);
    if (!agrees) fail(node, "a result disagrees with the shape rule");
  }
}

}  // namespace

void verify(const Program& program) {
  std::vector<bool> is_defined(program.values().size(), false);
  for (std::size_t v = 0; v < is_defined.size(); ++v) {
    is_defined[v] = program.values()[v].role != Role::Result;
  }
  std::vector<Phase> phase_of(is_defined.size(), Phase::Forward);
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    const Node& node = program.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue) continue;
      if (!is_defined[input]) fail(node, "an input is used before it exists");
      if (phase_of[input] > node.phase) fail(node, "reads a later phase");
      if (mutates(node, static_cast<int>(i)) &&
          program.value(input).role != Role::Variable) {
        fail(node, "mutates something that is no variable");
      }
    }
    for (ValueId output : node.outputs) {
      if (is_defined[output]) fail(node, "a result has two producers");
      if (program.value(output).producer != id) fail(node, "wrong producer");
      is_defined[output] = true;
      phase_of[output] = node.phase;
    }
    verify_shapes(program, node);
  }
}

}  // namespace traingraph
