// SPDX-License-Identifier: MIT
#include "metal/in_place.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_def.h"
#include "metal/kernels/update.h"

namespace traingraph::metal {
namespace {

using Values = std::unordered_set<ValueId>;

bool is_sum(const Node& node) {
  return node.op->kind == OpKind::AccumulateGradient;
}

/// A slice of a list is read where the list is, or MPSGraph would have to copy
/// it for the kernel.
InPlaceUpdate::Input source_of(const Program& program,
                               const std::vector<NodeId>& producers,
                               ValueId value) {
  if (value == kNoValue || producers[value] < 0) return {value};
  const Node& node = program.node(producers[value]);
  const auto* slice = std::get_if<SliceAttrs>(&node.attrs);
  if (node.op->kind != OpKind::Slice || !slice) return {value};
  const ValueId list = node.inputs[0];
  const bool is_list = program.value(list).role == Role::Input &&
                       program.shape(list).rank() == 1;
  const bool is_dense = slice->stride.rank() == 0 || slice->stride[0] == 1;
  if (!is_list || !is_dense) return {value};
  return {list, slice->start[0]};
}

InPlaceUpdate make_update(const Program& program,
                          const std::vector<NodeId>& producers, NodeId id) {
  const Node& node = program.node(id);
  InPlaceUpdate update{.node = id, .inputs = {}};
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const bool is_factors = is_sum(node) && i == 2;
    update.inputs.push_back(is_factors
                                ? source_of(program, producers, node.inputs[i])
                                : InPlaceUpdate::Input{node.inputs[i]});
  }
  return update;
}

/// What MPSGraph does after a node, seen from the end of the unit.
struct Later {
  Values used, changed;

  void add(const Node& node) {
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      used.insert(node.inputs[i]);
      if (mutates(node, i)) changed.insert(node.inputs[i]);
    }
  }
  bool may_follow(const Node& node) const {
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const ValueId value = node.inputs[i];
      if (value == kNoValue) continue;
      if ((mutates(node, i) ? used : changed).contains(value)) return false;
    }
    return true;
  }
};

/// May the updates run in any order, after all sums?
bool are_independent(const Program& program,
                     const std::vector<InPlaceUpdate>& updates) {
  std::unordered_map<ValueId, std::size_t> changed_by;
  const auto visit = [&](bool is_mutated, auto&& use) {
    for (std::size_t u = 0; u < updates.size(); ++u) {
      const Node& node = program.node(updates[u].node);
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
        const ValueId value = node.inputs[i];
        if (value == kNoValue || mutates(node, i) != is_mutated) continue;
        if (!use(u, node, value)) return false;
      }
    }
    return true;
  };
  const bool change_apart =
      visit(true, [&](std::size_t u, const Node&, ValueId value) {
        return changed_by.emplace(value, u).second;
      });
  return change_apart &&
         visit(false, [&](std::size_t u, const Node& reader, ValueId value) {
           const auto found = changed_by.find(value);
           if (found == changed_by.end()) return true;
           return found->second < u && !is_sum(reader) &&
                  is_sum(program.node(updates[found->second].node));
         });
}

}  // namespace

std::vector<InPlaceUpdate> find_in_place(const Program& program,
                                         const std::vector<NodeId>& producers,
                                         const GpuLimits& limits,
                                         const GpuUnit& unit) {
  std::vector<InPlaceUpdate> updates;
  if (!limits.uses_update_kernels || unit.engine != Engine::Graph) {
    return updates;
  }
  Later later;
  for (auto id = unit.nodes.rbegin(); id != unit.nodes.rend(); ++id) {
    const Node& node = program.node(*id);
    if (has_update_launch(program, node, kUpdateLimits) &&
        later.may_follow(node)) {
      updates.push_back(make_update(program, producers, *id));
    } else {
      later.add(node);
    }
  }
  std::ranges::reverse(updates);
  if (!are_independent(program, updates)) updates.clear();
  return updates;
}

}  // namespace traingraph::metal
