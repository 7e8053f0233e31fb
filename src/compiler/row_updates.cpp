// SPDX-License-Identifier: MIT
#include "compiler/row_updates.h"

#include <algorithm>

#include "graph/op_def.h"

namespace traingraph {
namespace {

bool keeps_rows_of_zeros(const Node& update) {
  enum { kMomentum = 2, kScale = 4 };
  const auto has = [&](std::size_t input) {
    return input < update.inputs.size() && update.inputs[input] != kNoValue;
  };
  const auto& attrs = std::get<SgdUpdateAttrs>(update.attrs);
  const bool may_clip_zero =
      attrs.clips_by_value &&
      !(attrs.gradient_clip_min <= 0 && attrs.gradient_clip_max >= 0);
  // A negative factor would make -0 of 0, and 0 of a parameter of -0.
  return !has(kMomentum) && !has(kScale) && !may_clip_zero &&
         attrs.momentum_scale == 0 && attrs.gradient_rescale >= 0 &&
         attrs.regularization_type == RegularizationType::None;
}

}  // namespace

std::vector<RowUpdate> find_row_updates(const Program& program,
                                        std::span<const ValueId> kept) {
  std::vector<RowUpdate> found;
  const auto& nodes = program.nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    if (nodes[id].op->kind != OpKind::SgdUpdate) continue;
    const ValueId gradient = nodes[id].inputs[1];
    const NodeId producer = program.value(gradient).producer;
    if (producer < 0 || !keeps_rows_of_zeros(nodes[id])) continue;
    if (nodes[producer].op->kind != OpKind::EmbeddingGradient) continue;
    if (std::ranges::find(kept, gradient) != kept.end()) continue;
    const auto num_readers =
        std::ranges::count_if(nodes, [&](const Node& node) {
          return std::ranges::find(node.inputs, gradient) != node.inputs.end();
        });
    if (num_readers == 1) found.push_back({producer, id});
  }
  return found;
}

}  // namespace traingraph
