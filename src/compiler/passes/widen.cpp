// SPDX-License-Identifier: MIT
#include "compiler/passes/widen.h"

#include <utility>
#include <vector>

#include "compiler/passes/retype.h"

namespace traingraph {
namespace {

bool is_half(const Program& program, ValueId value) {
  return value != kNoValue && !program.value(value).is_opaque &&
         is_half(program.desc(value).data_type);
}

}  // namespace

void widen(const Target& target, Program& program) {
  Retype retype(program);
  retype.run([&](NodeId id) {
    if (target.computes(program, program.node(id))) return;
    std::vector<std::pair<ValueId, DataType>> stored;
    for (ValueId value : program.node(id).outputs) {
      if (!is_half(program, value)) continue;
      stored.emplace_back(value, program.desc(value).data_type);
    }
    std::vector<ValueId> inputs = program.node(id).inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (!is_half(program, inputs[i]) || mutates(program.node(id), i)) {
        continue;
      }
      inputs[i] = retype.cast(inputs[i], DataType::Float32);
    }
    program.set_inputs(id, std::move(inputs));
    for (const auto& [value, type] : stored) retype.store_as(value, type);
  });
}

}  // namespace traingraph
