// SPDX-License-Identifier: MIT
#include "compiler/joined_gradients.h"

#include "graph/op_def.h"
#include "ops/update.h"

namespace traingraph {
namespace {

constexpr std::size_t kGradient = 1;  // of an update

/// Counts how many inputs read each value, and the host where it does.
std::vector<int> count_readers(const Program& program,
                               std::span<const ValueId> kept) {
  std::vector<int> count(program.values().size(), 0);
  for (const Node& node : program.nodes()) {
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) ++count[input];
    }
  }
  for (const ValueId value : kept) {
    if (value != kNoValue) ++count[value];
  }
  return count;
}

bool can_join(const Node& gradient, const Node& update, bool joins_phases) {
  if (gradient.op->kind == OpKind::EmbeddingGradient) return joins_phases;
  const auto* const slice = std::get_if<SliceAttrs>(&gradient.attrs);
  return slice && slice->stride == Shape{1} && gradient.phase == update.phase;
}

}  // namespace

std::vector<NodeId> find_joined_gradients(const Program& program,
                                          std::span<const ValueId> kept,
                                          bool joins_phases) {
  const std::vector<int> num_readers = count_readers(program, kept);
  std::vector<NodeId> found;
  for (const Node& update : program.nodes()) {
    if (!is_optimizer_update(update.op->kind)) continue;
    const ValueId gradient = update.inputs[kGradient];
    const NodeId id = program.value(gradient).producer;
    if (id < 0 || num_readers[gradient] != 1) continue;
    if (can_join(program.node(id), update, joins_phases)) found.push_back(id);
  }
  return found;
}

}  // namespace traingraph
