// SPDX-License-Identifier: MIT
#include "compiler/rewrites/join_slices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "graph/op_def.h"

namespace traingraph {
namespace {

/// A part of an axis, and all of the others.
struct AxisPart {
  int axis = 0;
  std::int64_t begin = 0, end = 0;
};

std::optional<AxisPart> find_part(const Program& program, const Node& node) {
  const auto& attrs = std::get<SliceAttrs>(node.attrs);
  const Shape &whole = program.shape(node.inputs[0]),
              &part = program.shape(node.outputs[0]);
  std::optional<AxisPart> found;
  for (int i = 0; i < whole.rank(); ++i) {
    if (whole[i] == part[i]) continue;
    const bool is_dense = attrs.stride.empty() || attrs.stride[i] == 1;
    if (found || !is_dense) return std::nullopt;
    found = AxisPart{i, attrs.start[i], attrs.start[i] + part[i]};
  }
  return found;
}

struct Slice {
  AxisPart part;
  NodeId node = -1;
};

/// Sorts them. Do they make up `size`, each element in one of them?
bool tile(std::vector<Slice>& slices, std::int64_t size) {
  std::ranges::sort(slices, {}, [](const Slice& s) { return s.part.begin; });
  std::int64_t end = 0;
  for (const Slice& slice : slices) {
    if (slice.part.begin != end) return false;
    end = slice.part.end;
  }
  return end == size && slices.size() <= kMaxRank;
}

/// The split gets the results of the slices.
NodeId append_split(Program& program, const std::vector<Slice>& slices,
                    NodeId first) {
  SplitAttrs attrs{.lengths = {}, .axis = slices[0].part.axis};
  for (const Slice& slice : slices) {
    attrs.lengths.push_back(slice.part.end - slice.part.begin);
  }
  const Node& node = program.node(first);
  const ValueId x = node.inputs[0];
  const auto position = std::exchange(
      program.position, {node.phase, node.layer, node.name, node.filter});
  const auto split = static_cast<NodeId>(program.nodes().size());
  const auto results = program.append(OpKind::Split, attrs, {x});
  program.position = position;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Node& slice = program.node(slices[i].node);
    std::swap(slice.outputs[0], program.node(split).outputs[i]);
    program.value(program.node(split).outputs[i]).producer = split;
    program.value(slice.outputs[0]).producer = slices[i].node;
  }
  return split;
}

Rewrite describe(const Program& program, const std::vector<Slice>& slices,
                 NodeId first) {
  Rewrite rewrite{
      .what = "split", .node = program.node(first).name, .of = {}, .hint = {}};
  for (const Slice& slice : slices) {
    rewrite.of.push_back(program.node(slice.node).name);
  }
  return rewrite;
}

}  // namespace

std::vector<Rewrite> join_slices(
    Program& program, const std::function<bool(const Node&)>& may_change) {
  std::map<std::pair<ValueId, int>, std::vector<Slice>> slices_of;
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = program.node(id);
    if (node.op->kind != OpKind::Slice || !may_change(node)) continue;
    const auto part = find_part(program, node);
    if (part) slices_of[{node.inputs[0], part->axis}].push_back({*part, id});
  }
  std::vector<Rewrite> rewrites;
  std::vector<NodeId> order(static_cast<std::size_t>(num_nodes));
  for (NodeId id = 0; id < num_nodes; ++id) order[id] = id;
  constexpr NodeId kGone = -1;
  for (auto& [of, slices] : slices_of) {
    const NodeId first = slices[0].node;
    if (!tile(slices, program.shape(of.first)[of.second])) continue;
    rewrites.push_back(describe(program, slices, first));
    const NodeId split = append_split(program, slices, first);
    for (const Slice& slice : slices) order[slice.node] = kGone;
    order[first] = split;
  }
  std::erase(order, kGone);
  program.reorder(order);
  return rewrites;
}

}  // namespace traingraph
