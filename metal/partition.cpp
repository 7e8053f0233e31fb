// SPDX-License-Identifier: MIT
#include "metal/partition.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"
#include "metal/borders.h"
#include "metal/in_place.h"
#include "metal/mpsnn/choose_filters.h"
#include "metal/mpsnn/filter_family.h"
#include "ops/cost.h"

namespace traingraph::metal {
namespace {

bool drops(const Node& node) {
  const auto* dropout = std::get_if<DropoutAttrs>(&node.attrs);
  return dropout && dropout->rate != 0;
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
         const GpuLimits& limits, const FilterChoice& filters)
      : program_(program),
        options_(options),
        limits_(limits),
        filters_(filters) {}

  std::vector<GpuUnit> run() {
    const auto is_waiting = find_waiting(program_, options_.may_be_absent);
    for (bool waiting : {false, true}) {
      begin_unit_ = true;
      for (NodeId id = 0; id < static_cast<NodeId>(is_waiting.size()); ++id) {
        const bool is_next = is_waiting[id] == waiting;
        if (!is_next) continue;
        if (!filters_.is_inner(id)) append(id);
      }
    }
    return std::move(units_);
  }

 private:
  void append(NodeId id) {
    const Node& node = program_.node(id);
    const Engine engine = filters_.takes(id)
                              ? Engine::ImageGraph
                              : engine_of(program_, node, limits_);
    const NodeCost cost = estimate_cost(program_, node);
    const double ms = limits_.estimated_ms(cost.flops, cost.bytes);
    if (begin_unit_ || begins_unit(node, engine, ms)) {
      units_.emplace_back().engine = engine;
      units_.back().phase = node.phase;
      begin_unit_ = false;
    }
    units_.back().estimated_ms += ms;
    units_.back().nodes.push_back(id);
  }

  bool begins_unit(const Node& node, Engine engine, double ms) const {
    const bool is_other_engine = engine == Engine::Kernel ||
                                 engine == Engine::Host ||
                                 units_.back().engine != engine;
    const double all_ms = units_.back().estimated_ms + ms;
    const bool is_too_long =
        options_.max_gpu_ms > 0 && all_ms > options_.max_gpu_ms;
    const bool is_next_phase = units_.back().phase != node.phase;
    const bool is_separate =
        options_.separates_updates && node.phase == Phase::Update;
    return is_other_engine || is_too_long || is_separate ||
           (is_next_phase && !options_.joins_phases);
  }

  const Program& program_;
  const LowerOptions& options_;
  const GpuLimits& limits_;
  const FilterChoice& filters_;
  std::vector<GpuUnit> units_;
  bool begin_unit_ = true;
};

/// The layer's name; not every node of a layer has it (updates have the
/// parameter's).
const std::string& layer_name(const Program& program, const Node& node) {
  const auto& nodes = program.nodes();
  const auto first = std::ranges::find(nodes, node.layer, &Node::layer);
  return node.layer < 0 ? node.name : first->name;
}

/// Cuts until all that MPSNN was given can run there.
std::vector<GpuUnit> partition(const Program& program,
                               const LowerOptions& options,
                               const GpuLimits& limits, FilterChoice& filters) {
  const std::vector<NodeId> producers = producers_of(program);
  for (;;) {
    std::vector<GpuUnit> units =
        Cutter(program, options, limits, filters).run();
    filters.add_updates(units);
    for (GpuUnit& unit : units) {
      unit.in_place = find_in_place(program, producers, limits, unit);
    }
    Borders borders(program, options, units);
    if (filters.drop_misfits(borders)) continue;
    borders.find(units);
    return units;
  }
}

}  // namespace

Engine engine_of(const Program& program, const Node& node,
                 const GpuLimits& limits) {
  if (node.op->is_host) return Engine::Host;
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
  FilterChoice filters(program, options, limits);
  return partition(program, options, limits, filters);
}

std::vector<std::string> reasons_not_mpsnn(const Program& program,
                                           const LowerOptions& options,
                                           const GpuLimits& limits) {
  FilterChoice filters(program, options, limits);
  partition(program, options, limits, filters);
  return filters.reasons();
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
