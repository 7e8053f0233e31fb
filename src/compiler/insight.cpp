// SPDX-License-Identifier: MIT
#include "compiler/insight.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "compiler/row_costs.h"
#include "graph/op_def.h"
#include "ops/cost.h"

namespace traingraph {
namespace {

/// Each row of a group names the group, and a group may be a whole network.
constexpr std::size_t kMaxNames = 32;

std::string_view name_of(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

LayerCost& cost_in(LayerRow& row, Phase phase) {
  return row.*kPhaseCosts[static_cast<std::size_t>(phase)];
}

/// "a + b": adds what is not there yet.
void add_once(std::string& text, const std::string& more,
              const std::string& separator) {
  const std::string all = separator + text + separator;
  if (all.find(separator + more + separator) != std::string::npos) return;
  text += (text.empty() ? "" : separator) + more;
}

std::vector<double> fractions(std::vector<double> parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) {
    part = sum > 0 ? part / sum : 1.0 / static_cast<double>(parts.size());
  }
  return parts;
}

/// Scratchpads stay in caches, if they are not said to be read back.
double bytes_of(const Unit& unit, const LoweredProgram& lowered) {
  double bytes = 0;
  const auto add = [&](const std::vector<StorageId>& list, int times,
                       int times_read_back) {
    for (StorageId id : list) {
      const Storage& storage = lowered.storages[id];
      bytes += static_cast<double>(storage.bytes) *
               (storage.is_read_back ? times_read_back : times);
    }
  };
  add(unit.reads, 1, 1);
  add(unit.writes, 1, 2);
  add(unit.scratch, 0, 2);
  return bytes;
}

}  // namespace

LayerCost LayerRow::cost() const {
  LayerCost sum = forward;
  add_to(sum, gradient);
  add_to(sum, update);
  return sum;
}

void count_casts(const CompiledProgram& compiled, std::span<const UnitId> order,
                 Report& report) {
  const Program& program = compiled.assembled.program;
  const auto is_cast = [&](NodeId id) {
    const Node& node = program.node(id);
    if (node.op->kind != OpKind::Cast) return false;
    const DataType from = program.desc(node.inputs[0]).data_type;
    const DataType to = program.desc(node.outputs[0]).data_type;
    return from != to && is_float(from) && is_float(to);
  };
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    if (is_cast(id)) ++report.casts;
  }
  for (UnitId id : order) {
    const Unit& unit = compiled.lowered.units[id];
    const bool is_alone =
        !unit.is_reorder && std::ranges::all_of(unit.nodes, is_cast);
    if (is_alone) ++report.cast_units;
  }
}

std::vector<double> shares_of(const Unit& unit, const Program& program) {
  std::vector<double> weights;
  for (NodeId id : unit.nodes) {
    weights.push_back(estimate_cost(program, program.node(id)).weight());
  }
  return fractions(std::move(weights));
}

UnitTable::UnitTable(const MergedGraph& graph, const CompiledProgram& compiled,
                     const DevicePeaks& peaks)
    : graph_(graph),
      compiled_(compiled),
      program_(compiled.assembled.program),
      peaks_(peaks),
      row_of_(graph, program_),
      rows_(row_of_.names().size()),
      group_(rows_.size()) {
  std::iota(group_.begin(), group_.end(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    begin(rows_[i], row_of_.names()[i]);
  }
  begin(total_, "total");
  describe_ops();
  count_parameters();
}

void UnitTable::begin(LayerRow& row, std::string name) const {
  row.layer = std::move(name);
  const bool is_known = peaks_.flops > 0 && peaks_.bandwidth > 0;
  for (LayerCost* cost : {&row.forward, &row.gradient, &row.update}) {
    cost->limit_seconds = is_known ? 0 : kUnknown;
  }
}

void UnitTable::describe_ops() {
  for (NodeId id = 0; id < static_cast<NodeId>(program_.nodes().size()); ++id) {
    const Node& node = program_.node(id);
    if (node.phase != Phase::Forward) continue;
    add_once(rows_[row_of_.of(id)].ops, node.op->name, " + ");
  }
}

void UnitTable::count_parameters() {
  std::unordered_set<TensorIndex> parameters(graph_.trainable.begin(),
                                             graph_.trainable.end());
  for (const LayerInfo& layer : graph_.layers) {
    parameters.insert(layer.parameters.begin(), layer.parameters.end());
  }
  for (TensorIndex parameter : parameters) {
    const std::int64_t size =
        graph_.tensors[parameter].desc.shape.num_elements();
    const int reader = row_of_.reader_of(parameter);
    if (reader < 0) continue;
    rows_[reader].parameters += size;
    total_.parameters += size;
  }
}

void UnitTable::add(std::span<const UnitId> order,
                    std::span<const double> seconds) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    add(compiled_.lowered.units[order[i]], seconds.empty() ? 0 : seconds[i]);
  }
}

void UnitTable::add(const Unit& unit, double seconds) {
  UnitSpan& span = units_.emplace_back();
  describe(unit, span);
  std::vector<double> moved, flops, weights;
  for (NodeId id : unit.nodes) {
    const NodeCost cost = estimate_cost(program_, program_.node(id));
    moved.push_back(cost.bytes);
    flops.push_back(unit.is_reorder ? 0 : cost.flops);
    weights.push_back(cost.weight());
  }
  span.cost = {.flops = std::accumulate(flops.begin(), flops.end(), 0.0),
               .bytes = bytes_of(unit, compiled_.lowered),
               .seconds = seconds};
  span.cost.limit_seconds = std::max(span.cost.flops / peaks_.flops,
                                     span.cost.bytes / peaks_.bandwidth);
  span.start = end_;
  end_ += seconds;

  const std::vector<double> shares = fractions(std::move(weights));
  moved = fractions(std::move(moved));
  for (std::size_t i = 0; i < unit.nodes.size(); ++i) {
    const Phase phase =
        unit.is_reorder ? unit.phase : program_.node(unit.nodes[i]).phase;
    const LayerCost part{.flops = flops[i],
                         .bytes = span.cost.bytes * moved[i],
                         .seconds = seconds * shares[i],
                         .limit_seconds = span.cost.limit_seconds * shares[i]};
    add_to(cost_in(rows_[row_of_.of(unit.nodes[i])], phase), part);
    add_to(cost_in(total_, phase), part);
  }
}

void UnitTable::describe(const Unit& unit, UnitSpan& span) {
  span.phase = name_of(unit.phase);
  span.is_reorder = unit.is_reorder;
  span.layout = unit.layout;
  span.image_copies = unit.image_copies;
  for (NodeId id : unit.nodes) {
    const Node& node = program_.node(id);
    span.rows.push_back(row_of_.of(id));
    add_once(span.ops, unit.is_reorder ? "reorder" : node.op->name, " + ");
    if (unit.is_reorder || node.phase != Phase::Forward) continue;
    if (unit.layout.empty()) continue;
    add_once(rows_[row_of_.of(id)].layout, unit.layout, ", ");
  }
  std::ranges::sort(span.rows);
  const auto repeated = std::ranges::unique(span.rows);
  span.rows.erase(repeated.begin(), repeated.end());
  span.name = names(span.rows);
  if (unit.is_reorder) {
    ++rows_[span.rows.front()].reorders;
    ++total_.reorders;
  }
  for (int row : span.rows) {
    const auto [first, other] =
        std::minmax({first_of_group(row), first_of_group(span.rows.front())});
    group_[other] = first;
  }
}

int UnitTable::first_of_group(int row) {
  while (group_[row] != row) row = group_[row] = group_[group_[row]];
  return row;
}

std::string UnitTable::names(const std::vector<int>& rows) const {
  std::string text;
  const std::size_t shown = std::min(rows.size(), kMaxNames);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : " + ") + rows_[rows[i]].layer;
  }
  if (shown == rows.size()) return text;
  return text + " + " + std::to_string(rows.size() - shown) + " more";
}

void UnitTable::finish_rows() {
  std::vector<std::vector<int>> groups(rows_.size());  // by first row
  for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
    groups[first_of_group(row)].push_back(row);
  }
  int num_groups = 0;
  for (const std::vector<int>& members : groups) {
    if (members.size() < 2) continue;
    const std::string text = names(members);
    for (int row : members) {
      rows_[row].fused_group = num_groups;
      rows_[row].fused = text;
    }
    ++num_groups;
  }
}

}  // namespace traingraph
