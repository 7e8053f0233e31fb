// SPDX-License-Identifier: MIT
#include "compiler/passes/pool_before_relu.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {
namespace {

bool is_relu(const Node& node) {
  if (node.op->kind != OpKind::Activation) return false;
  const auto& attrs = std::get<ActivationAttrs>(node.attrs);
  return attrs.type == ActivationType::ReLU && attrs.a == 0;
}

/// Counts how often each value is read or named.
std::vector<int> count_uses(const Program& program,
                            std::span<const ValueId> named) {
  std::vector<int> uses(program.values().size(), 0);
  const auto count = [&](ValueId value) {
    if (value != kNoValue) ++uses[value];
  };
  std::ranges::for_each(named, count);
  for (const Node& node : program.nodes()) {
    std::ranges::for_each(node.inputs, count);
  }
  return uses;
}

/// The nodes change places, r becomes the pooled value, y stays the result.
void exchange(Program& program, NodeId relu_at, NodeId pool_at) {
  Node& relu = program.node(relu_at);
  Node& pool = program.node(pool_at);
  const ValueId r = relu.outputs[0], y = pool.outputs[0];
  pool.inputs[0] = std::exchange(relu.inputs[0], r);
  std::swap(pool.outputs[0], relu.outputs[0]);
  program.value(r).desc = program.desc(y);
  program.value(r).batch = program.value(y).batch;
  program.value(pool.outputs[1]).producer = relu_at;
  std::swap(relu, pool);
}

}  // namespace

void pool_before_relu(Program& program, std::span<const ValueId> named) {
  const std::vector<int> uses = count_uses(program, named);
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    if (program.node(id).op->kind != OpKind::MaxPool2d) continue;
    const ValueId r = program.node(id).inputs[0];
    const NodeId producer = program.value(r).producer;
    if (producer < 0 || uses[r] != 1) continue;
    const Node& before = program.node(producer);
    const bool is_one_phase = before.phase == program.node(id).phase;
    // Filter nodes stay what they are: their images can be asked for.
    if (before.filter >= 0) continue;
    if (is_relu(before) && is_one_phase) exchange(program, producer, id);
  }
}

}  // namespace traingraph
