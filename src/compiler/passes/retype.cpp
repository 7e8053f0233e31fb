// SPDX-License-Identifier: MIT
#include "compiler/passes/retype.h"

#include <algorithm>
#include <utility>

namespace traingraph {

void Retype::run(const std::function<void(NodeId)>& visit) {
  const auto position = program_.position;
  const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
  std::vector<NodeId> order;
  for (NodeId id = 0; id < num_nodes; ++id) {
    visited_ = id;
    before_.clear();
    after_.clear();
    visit(id);
    order.insert(order.end(), before_.begin(), before_.end());
    order.push_back(id);
    order.insert(order.end(), after_.begin(), after_.end());
  }
  const bool has_changed = order.size() > static_cast<std::size_t>(num_nodes);
  if (has_changed) program_.reorder(order);
  program_.position = position;
}

ValueId Retype::append_cast(ValueId value, DataType type) {
  const Node& node = program_.node(visited_);
  program_.position = {node.phase, node.layer, node.name, node.filter};
  const ValueId cast =
      program_.append_one(OpKind::Cast, CastAttrs{type}, {value});
  program_.value(cast).batch = program_.value(value).batch;
  return cast;
}

ValueId Retype::cast(ValueId value, DataType type) {
  if (program_.desc(value).data_type == type) return value;
  const ValueId cast = append_cast(value, type);
  before_.push_back(program_.value(cast).producer);
  return cast;
}

ValueId Retype::store_as(ValueId value, DataType type) {
  const ValueId computed = append_cast(value, type);
  Value& stored = program_.value(value);
  Value& source = program_.value(computed);
  Node& caster = program_.node(source.producer);
  std::ranges::replace(program_.node(visited_).outputs, value, computed);
  caster.inputs = {computed};
  caster.outputs = {value};
  std::swap(stored.producer, source.producer);
  std::swap(stored.desc, source.desc);
  after_.push_back(stored.producer);
  return computed;
}

}  // namespace traingraph
