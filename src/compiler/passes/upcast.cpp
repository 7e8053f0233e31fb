// SPDX-License-Identifier: MIT
#include "compiler/passes/upcast.h"

#include <map>
#include <utility>
#include <vector>

#include "compiler/passes/retype.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

bool is_half(const Program& program, ValueId value) {
  return value != kNoValue && !program.value(value).is_opaque &&
         is_half(program.desc(value).data_type);
}

/// Casts around a node cannot help where it changes a variable.
void require_copies(const Target& target, const Program& program,
                    const Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const ValueId value = node.inputs[i];
    if (!is_half(program, value) || !mutates(node, i)) continue;
    const Value& changed = program.value(value);
    throw UnsupportedError(ErrorInfo{
        .op = node.op->name,
        .node = node.name,
        .what = "the device has no code that changes such a tensor in place",
        .expected = "float32 for \"" + changed.name + "\" on " +
                    std::string(target.name()),
        .got = std::string(to_string(changed.desc.data_type)),
        .hint = "Give it as a tensor of float32."});
  }
}

bool makes_float32(const Node& node) {
  const auto* cast = std::get_if<CastAttrs>(&node.attrs);
  return cast != nullptr && cast->data_type == DataType::Float32;
}

}  // namespace

void upcast(const Target& target, Program& program) {
  Retype retype(program);
  std::map<ValueId, ValueId> computed;  // in float32, of what is stored
  retype.run([&](NodeId id) {
    if (makes_float32(program.node(id))) {
      const auto found = computed.find(program.node(id).inputs[0]);
      if (found == computed.end()) return;
      return program.set_inputs(id, {found->second});
    }
    if (program.node(id).op->is_host) return;
    if (target.computes(program, program.node(id))) return;
    require_copies(target, program, program.node(id));
    std::vector<std::pair<ValueId, DataType>> stored;
    for (ValueId value : program.node(id).outputs) {
      if (!is_half(program, value)) continue;
      stored.emplace_back(value, program.desc(value).data_type);
    }
    std::vector<ValueId> inputs = program.node(id).inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (!is_half(program, inputs[i])) continue;
      inputs[i] = retype.cast(inputs[i], DataType::Float32);
    }
    program.set_inputs(id, std::move(inputs));
    for (const auto& [value, type] : stored) {
      computed[value] = retype.store_as(value, type);
    }
  });
}

}  // namespace traingraph
