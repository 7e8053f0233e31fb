// SPDX-License-Identifier: MIT
#include "metal/borders.h"

#include <algorithm>
#include <optional>

#include "graph/image_filter.h"
#include "graph/op_def.h"
#include "metal/mpsnn/filter_family.h"

namespace traingraph::metal {
namespace {

void add_once(std::vector<ValueId>& list, ValueId value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

bool drops(const Node& node) {
  const auto* dropout = std::get_if<DropoutAttrs>(&node.attrs);
  return dropout && dropout->rate != 0;
}

/// The input with the numbers that a mask is made of; -1: the node takes none.
int random_state_input(const Node& node) {
  switch (node.op->kind) {
    case OpKind::Dropout:
      return 1;
    case OpKind::Attention:
      return 5;
    case OpKind::AttentionGradient:
      return 8;
    default:
      return -1;
  }
}

/// The mask that the node needs, if any.
std::optional<Mask> mask_of(const Program& program, NodeId id) {
  const Node& node = program.node(id);
  const auto make = [&](const DropoutAttrs& attrs, const Shape& shape) {
    return Mask{attrs,
                {shape, DataType::Boolean},
                node.inputs[random_state_input(node)],
                {id}};
  };
  if (drops(node)) {
    return make(std::get<DropoutAttrs>(node.attrs),
                program.shape(node.outputs[0]));
  }
  const auto* attention = std::get_if<AttentionAttrs>(&node.attrs);
  if (!attention || attention->dropout == 0) return std::nullopt;
  // Its weights, (N * heads, L, S).
  const int query = node.op->kind == OpKind::Attention ? 0 : 1;
  const Shape& queries = program.shape(node.inputs[query]);
  const Shape& keys = program.shape(node.inputs[query + 1]);
  return make({.rate = attention->dropout,
               .seed = attention->seed,
               .stream = attention->stream},
              {queries[0] * attention->head_count, queries[1], keys[1]});
}

void add_mask(const Program& program, NodeId id, std::vector<Mask>& masks) {
  auto wanted = mask_of(program, id);
  if (!wanted) return;
  for (Mask& mask : masks) {
    if (mask.attrs != wanted->attrs || mask.desc != wanted->desc) continue;
    if (mask.random_state != wanted->random_state) continue;
    mask.nodes.push_back(id);
    return;
  }
  masks.push_back(*std::move(wanted));
}

}  // namespace

Borders::Borders(const Program& program, const LowerOptions& options,
                 const std::vector<GpuUnit>& units)
    : program_(program),
      is_kept_(program.values().size(), false),
      unit_of_(program.nodes().size(), -1),
      is_in_place_(program.nodes().size(), false),
      producer_(producers_of(program)) {
  for (ValueId value : options.kept) is_kept_[value] = true;
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (NodeId id : units[u].nodes) unit_of_[id] = static_cast<int>(u);
    for (const GpuUnit& update : units[u].updates) {
      for (NodeId id : update.nodes) unit_of_[id] = static_cast<int>(u);
    }
  }
  for (const GpuUnit& unit : units) {
    for (const InPlaceUpdate& update : unit.in_place) keep_for(update);
  }
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    if (!is_in_place_[id]) keep_what_crosses(id);
  }
}

void Borders::keep_what_crosses(NodeId reader) {
  for (ValueId value : program_.node(reader).inputs) {
    if (value == kNoValue) continue;
    const NodeId producer = producer_[value];
    if (producer >= 0 && unit_of_[producer] != unit_of_[reader]) {
      is_kept_[value] = true;
    }
  }
}

/// A kernel reads what the executable has stored, also of its own unit.
void Borders::keep_for(const InPlaceUpdate& update) {
  is_in_place_[update.node] = true;
  for (const InPlaceUpdate::Input& input : update.inputs) {
    const ValueId value = input.value;
    if (value != kNoValue && producer_[value] >= 0) is_kept_[value] = true;
  }
}

void Borders::find(std::vector<GpuUnit>& units) {
  for (GpuUnit& unit : units) {
    unit.engine == Engine::ImageGraph ? find_images(unit) : find(unit);
  }
  std::erase_if(units, [](const GpuUnit& unit) {
    return unit.targets.empty() && unit.updated.empty() &&
           unit.updates.empty() && unit.in_place.empty();
  });
}

void Borders::find(GpuUnit& unit) const {
  // Values that have a tensor in the executable by now.
  std::vector<bool> is_inside(program_.values().size(), false);
  for (NodeId id : unit.nodes) {
    if (is_in_place_[id]) continue;
    const Node& node = program_.node(id);
    // A graph knows the mask, not the numbers that it is made of.
    const int random_state =
        unit.engine == Engine::Graph ? random_state_input(node) : -1;
    const int num_inputs = static_cast<int>(node.inputs.size());
    for (int i = 0; i < num_inputs; ++i) {
      const ValueId value = node.inputs[i];
      if (value == kNoValue || program_.value(value).is_opaque) continue;
      if (i == random_state) continue;
      if (!is_inside[value]) unit.feeds.push_back(value);
      is_inside[value] = true;
      if (mutates(node, i)) add_once(unit.updated, value);
    }
    if (random_state >= 0) add_mask(program_, id, unit.masks);
    for (ValueId value : node.outputs) {
      if (program_.value(value).is_opaque) continue;
      is_inside[value] = true;
      if (is_kept_[value]) unit.targets.push_back(value);
    }
  }
}

void Borders::find_images(GpuUnit& unit) const {
  const int number = unit_of_[unit.nodes.front()];
  const auto is_inside = [&](ValueId value) {
    return producer_[value] >= 0 && unit_of_[producer_[value]] == number;
  };
  const auto add_target = [&](ValueId value) {
    const bool is_read = value != kNoValue && is_kept_[value];
    if (is_read && is_inside(value)) add_once(unit.targets, value);
  };
  for (NodeId id : unit.nodes) {
    const Node& node = program_.node(id);
    const int filter = node.filter;
    if (std::ranges::find(unit.filters, filter) == unit.filters.end()) {
      unit.filters.push_back(filter);
    }
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      if (mutates(node, i)) add_once(unit.updated, node.inputs[i]);
    }
  }
  std::ranges::sort(unit.filters);
  for (int index : unit.filters) {
    const ImageFilter& filter = program_.filters->filters[index];
    for (ValueId source : filter.sources) {
      if (!is_inside(source)) add_once(unit.feeds, source);
    }
    for (const auto& [role, variable] : filter.parameters) {
      add_once(unit.feeds, variable);
    }
    add_target(filter.result);
    add_target(filter.loss);
    for (const auto& [role, gradient] : filter.parameter_gradients) {
      add_target(gradient);
    }
  }
  for (GpuUnit& update : unit.updates) {
    find(update);
    for (ValueId value : update.feeds) {
      if (is_inside(value)) add_once(unit.targets, value);
    }
  }
}

}  // namespace traingraph::metal
