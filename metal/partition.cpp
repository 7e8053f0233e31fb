// SPDX-License-Identifier: MIT
#include "metal/partition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/op_def.h"
#include "ops/cost.h"

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

/// Nodes that can run although the values of `may_be_absent` were not given
/// come first; the others wait for those values.
std::vector<bool> find_waiting(const Program& program,
                               std::span<const ValueId> may_be_absent) {
  std::vector<bool> is_absent(program.values().size(), false);
  for (ValueId value : may_be_absent) is_absent[value] = true;
  std::vector<bool> is_waiting;
  for (const Node& node : program.nodes()) {
    is_waiting.push_back(std::ranges::any_of(node.inputs, [&](ValueId value) {
      return value != kNoValue && is_absent[value];
    }));
    if (!is_waiting.back()) continue;
    for (ValueId value : node.outputs) is_absent[value] = true;
  }
  return is_waiting;
}

/// Appends nodes to units; decides where a new one begins.
class Cutter {
 public:
  Cutter(const Program& program, const LowerOptions& options,
         const GpuLimits& limits)
      : program_(program), options_(options), limits_(limits) {}

  std::vector<GpuUnit> run() {
    const auto is_waiting = find_waiting(program_, options_.may_be_absent);
    for (bool waiting : {false, true}) {
      begin_unit_ = true;
      for (std::size_t id = 0; id < is_waiting.size(); ++id) {
        if (is_waiting[id] == waiting) append(static_cast<NodeId>(id));
      }
    }
    return std::move(units_);
  }

 private:
  void append(NodeId id) {
    const Node& node = program_.node(id);
    const Engine engine = engine_of(program_, node, limits_);
    const NodeCost cost = estimate_cost(program_, node);
    const double ms = limits_.estimated_ms(cost.flops, cost.bytes);
    if (begin_unit_ || begins_unit(node, engine, ms)) {
      units_.emplace_back().engine = engine;
      units_.back().phase = node.phase;
      unit_ms_ = 0;
      begin_unit_ = false;
    }
    unit_ms_ += ms;
    units_.back().nodes.push_back(id);
  }

  bool begins_unit(const Node& node, Engine engine, double ms) const {
    const bool is_other_engine =
        engine == Engine::Kernel || units_.back().engine != engine;
    const bool is_too_long =
        options_.max_gpu_ms > 0 && unit_ms_ + ms > options_.max_gpu_ms;
    const bool is_next_phase = units_.back().phase != node.phase;
    const bool is_separate =
        options_.separates_updates && node.phase == Phase::Update;
    return is_other_engine || is_too_long || is_separate ||
           (is_next_phase && !options_.joins_phases);
  }

  const Program& program_;
  const LowerOptions& options_;
  const GpuLimits& limits_;
  std::vector<GpuUnit> units_;
  double unit_ms_ = 0;
  bool begin_unit_ = true;
};

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

class Borders {
 public:
  Borders(const Program& program, const LowerOptions& options)
      : program_(program), is_kept_(program.values().size(), false) {
    for (ValueId value : options.kept) is_kept_[value] = true;
  }

  void find(std::vector<GpuUnit>& units) {
    unit_of_.assign(program_.nodes().size(), -1);
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (NodeId id : units[u].nodes) unit_of_[id] = static_cast<int>(u);
    }
    for (const Node& node : program_.nodes()) keep_what_crosses(node);
    for (GpuUnit& unit : units) find(unit);
    std::erase_if(units, [](const GpuUnit& unit) {
      return unit.targets.empty() && unit.updated.empty();
    });
  }

 private:
  int unit_of(const Node& node) const {
    return unit_of_[&node - program_.nodes().data()];
  }

  void keep_what_crosses(const Node& reader) {
    for (ValueId value : reader.inputs) {
      if (value == kNoValue) continue;
      const NodeId producer = program_.value(value).producer;
      if (producer >= 0 && unit_of_[producer] != unit_of(reader)) {
        is_kept_[value] = true;
      }
    }
  }

  void find(GpuUnit& unit) {
    // Values that have a tensor in the executable by now.
    std::vector<bool> is_inside(program_.values().size(), false);
    for (NodeId id : unit.nodes) {
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

  const Program& program_;
  std::vector<bool> is_kept_;  // by value
  std::vector<int> unit_of_;   // by node
};

/// The layer's name; not every node of a layer has it (updates have the
/// parameter's).
const std::string& layer_name(const Program& program, const Node& node) {
  const auto& nodes = program.nodes();
  const auto first = std::ranges::find(nodes, node.layer, &Node::layer);
  return node.layer < 0 ? node.name : first->name;
}

}  // namespace

Engine engine_of(const Program& program, const Node& node,
                 const GpuLimits& limits) {
  if (!drops(node)) return Engine::Graph;
  const TensorDescriptor& desc = program.desc(node.outputs[0]);
  const TensorDescriptor mask{desc.shape, DataType::Boolean};
  const bool has_kernel = desc.data_type == DataType::Float32;
  const bool is_large = mask.size_bytes() > limits.max_mask_bytes;
  return has_kernel && is_large ? Engine::Kernel : Engine::Graph;
}

std::vector<GpuUnit> partition(const Program& program,
                               const LowerOptions& options,
                               const GpuLimits& limits) {
  std::vector<GpuUnit> units = Cutter(program, options, limits).run();
  Borders(program, options).find(units);
  return units;
}

std::string label_of(const Program& program, const GpuUnit& unit) {
  static constexpr const char* kPhases[] = {"forward", "gradient", "update"};
  const auto range = [](const std::string& first, const char* between,
                        const std::string& last) {
    return first == last ? first : first + between + last;
  };
  const auto phase = [&](NodeId id) {
    return kPhases[static_cast<int>(program.node(id).phase)];
  };
  // Users know layers, not the seed of the gradient or what clips it.
  std::vector<NodeId> nodes = unit.nodes;
  std::erase_if(nodes, [&](NodeId id) { return program.node(id).layer < 0; });
  if (nodes.empty()) nodes = unit.nodes;
  const std::string layers =
      range(layer_name(program, program.node(nodes.front())), " ... ",
            layer_name(program, program.node(nodes.back())));
  return layers + " (" +
         range(phase(unit.nodes.front()), " to ", phase(unit.nodes.back())) +
         ')';
}

}  // namespace traingraph::metal
