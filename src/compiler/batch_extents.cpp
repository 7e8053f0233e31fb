// SPDX-License-Identifier: MIT
#include "compiler/batch_extents.h"

#include <algorithm>

namespace traingraph {
namespace {

bool are_alike(const Node& node, const Node& other) {
  return node.op == other.op && node.inputs == other.inputs &&
         node.outputs == other.outputs;
}

bool are_alike(const Value& value, const Value& other) {
  return value.role == other.role && value.is_opaque == other.is_opaque &&
         value.desc.data_type == other.desc.data_type &&
         value.desc.shape.rank() == other.desc.shape.rank();
}

}  // namespace

BatchExtents find_batch_extents(const Program& program, const Program& other) {
  const bool is_same_program = std::ranges::equal(
      program.nodes(), other.nodes(),
      [](const Node& a, const Node& b) { return are_alike(a, b); });
  const bool has_same_values = std::ranges::equal(
      program.values(), other.values(),
      [](const Value& a, const Value& b) { return are_alike(a, b); });
  if (!is_same_program || !has_same_values) return {};
  BatchExtents extents;
  for (ValueId v = 0; v < static_cast<ValueId>(program.values().size()); ++v) {
    const Shape &shape = program.shape(v), &changed = other.shape(v);
    std::uint32_t axes = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != changed[axis]) axes |= 1u << axis;
    }
    extents.push_back(axes);
  }
  return extents;
}

}  // namespace traingraph
