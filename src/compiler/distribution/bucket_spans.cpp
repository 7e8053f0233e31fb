// SPDX-License-Identifier: MIT
#include "compiler/distribution/bucket_spans.h"

#include <algorithm>
#include <unordered_map>

#include "graph/op_def.h"

namespace traingraph {

std::vector<BucketSpan> bucket_spans(const CompiledProgram& compiled,
                                     const Plan& plan) {
  const Assembled& assembled = compiled.assembled;
  const auto are_gradients = [&](const Node& done) {
    return std::ranges::find(assembled.trained, done.outputs.front(),
                             &Trained::gradient) != assembled.trained.end();
  };
  std::vector<BucketSpan> spans;
  std::unordered_map<ValueId, BucketSpan> begun;  // by the first value
  int before = 0;                                 // units of the device
  for (const UnitId id : plan.order) {
    const Unit& unit = compiled.lowered.units[id];
    if (!unit.is_host) {
      ++before;
      continue;
    }
    const Node& node = assembled.program.node(unit.nodes.front());
    if (node.op->kind == OpKind::AllReduceStart) {
      BucketSpan& span = begun[node.outputs.front()];
      span = {.name = node.name, .sent_before = before};
      for (const StorageId storage : unit.args) {
        span.bytes += compiled.lowered.storages[storage].bytes;
      }
    } else if (node.op->kind == OpKind::AllReduceDone && are_gradients(node)) {
      spans.push_back(begun.at(node.inputs.front()));
      spans.back().needed_before = before;
    }
  }
  return spans;
}

}  // namespace traingraph
