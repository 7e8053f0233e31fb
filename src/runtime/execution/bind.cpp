// SPDX-License-Identifier: MIT
#include "runtime/execution/bind.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr std::size_t kOutputAlignment = 64;

/// By storage: does it hold a label or label weights?
std::vector<bool> label_storage(const CompiledProgram& compiled) {
  std::vector<bool> is_label;
  for (const Storage& storage : compiled.lowered.storages) {
    const ValueId value = storage.value;
    is_label.push_back(value != kNoValue &&
                       compiled.assembled.program.value(value).producer < 0 &&
                       compiled.assembled.depends_on_labels[value]);
  }
  return is_label;
}

std::vector<UnitId> units_of(const CompiledProgram& compiled, const Plan& plan,
                             EntryPoint entry_point,
                             const BindOptions& options) {
  const Program& program = compiled.assembled.program;
  const auto phase_begins = [&](int phase) { return plan.begin_of[phase]; };
  int first = 0, last = plan.begin_of[3];
  if (entry_point == EntryPoint::Forward) last = phase_begins(1);
  if (entry_point == EntryPoint::Gradient) {
    first = phase_begins(1);
    last = phase_begins(2);
  }
  if (entry_point == EntryPoint::Update) first = phase_begins(2);

  const auto is_skipped = [&](NodeId id) {
    const Node& node = program.node(id);
    const bool is_update = node.phase == Phase::Update &&
                           node.outputs.empty() && !node.op->is_host;
    if (!is_update) return false;
    return options.linked.skips_update(program.value(node.inputs[0]).tensor);
  };
  std::vector<bool> depends_on_labels = label_storage(compiled);
  std::vector<UnitId> units;
  for (int i = first; i < last; ++i) {
    const Unit& unit = compiled.lowered.units[plan.order[i]];
    if (std::ranges::any_of(unit.nodes, is_skipped)) continue;
    const bool needs_labels = std::ranges::any_of(
        unit.reads, [&](StorageId s) { return depends_on_labels[s]; });
    if (needs_labels && entry_point == EntryPoint::InferenceWithoutLabels) {
      for (StorageId s : unit.writes) depends_on_labels[s] = true;
      continue;
    }
    units.push_back(plan.order[i]);
  }
  return units;
}

/// What is dead after each of the units.
std::vector<std::vector<PoisonRange>> poison_of(
    const Plan& plan, const std::vector<UnitId>& units, Arena& arena) {
  std::vector<int> position(plan.order.size());
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    position[plan.order[i]] = static_cast<int>(i);
  }
  std::vector<std::vector<PoisonRange>> poison;
  for (UnitId id : units) {
    auto& ranges = poison.emplace_back();
    for (const ByteRange& range : plan.freed_after[position[id]]) {
      ranges.push_back({arena.at(range.offset), range.bytes});
    }
  }
  return poison;
}

/// Finds what the host gets after an entry point.
class OutputPlanner {
 public:
  OutputPlanner(const Compilation& compilation, EntryPoint entry_point,
                const Placement& placement)
      : graph_(*compilation.graph),
        compiled_(compilation.program(plan_of(entry_point))),
        plan_(compilation.plan(plan_of(entry_point))),
        entry_point_(entry_point),
        placement_(placement) {}

  OutputPlan run() {
    if (entry_point_ == EntryPoint::Update) return {};
    for (const auto& [name, tensor] : graph_.outputs) {
      const ValueId value = compiled_.assembled.find(tensor);
      if (is_available(value)) out_.outputs.push_back(entry(name, value));
    }
    if (entry_point_ != EntryPoint::Gradient) add_result();
    return std::move(out_);
  }

 private:
  bool is_available(ValueId value) const {
    if (value == kNoValue || compiled_.lowered.storage_of[value] < 0) {
      return false;
    }
    const Assembled& assembled = compiled_.assembled;
    const NodeId producer = assembled.program.value(value).producer;
    const Phase phase =
        producer < 0 ? Phase::Forward : assembled.program.node(producer).phase;
    if (entry_point_ == EntryPoint::Forward) return phase == Phase::Forward;
    if (entry_point_ == EntryPoint::Gradient) return phase == Phase::Gradient;
    const bool lacks_labels =
        entry_point_ == EntryPoint::InferenceWithoutLabels;
    return !lacks_labels || !assembled.depends_on_labels[value];
  }

  OutputPlan::Entry entry(std::string_view name, ValueId value) {
    const StorageId storage = compiled_.lowered.storage_of[value];
    OutputPlan::Entry result{
        name, compiled_.assembled.program.desc(value),
        placement_.locate(compiled_, plan_, plan_of(entry_point_), storage),
        out_.bytes};
    out_.bytes = checked_add(
        out_.bytes,
        checked_align(result.desc.size_bytes(), kOutputAlignment, "outputs"),
        "outputs");
    return result;
  }

  void add_result() {
    const Assembled& assembled = compiled_.assembled;
    const auto& losses = assembled.losses;
    const bool has_losses =
        !losses.empty() && std::ranges::all_of(losses, [&](ValueId loss) {
          return is_available(loss);
        });
    if (!has_losses) {
      if (!is_available(assembled.result)) return;
      out_.result = entry("result", assembled.result);
      return;
    }
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::string& name = graph_.layers[graph_.losses[i]].name;
      out_.losses.push_back(entry(name, losses[i]));
    }
    if (losses.size() == 1) return;
    out_.sum_offset = out_.bytes;
    out_.bytes += kOutputAlignment;
  }

  const MergedGraph& graph_;
  const CompiledProgram& compiled_;
  const Plan& plan_;
  const EntryPoint entry_point_;
  const Placement& placement_;
  OutputPlan out_;
};

}  // namespace

std::shared_ptr<BoundEntryPoint> bind_entry_point(
    const Compilation& compilation, EntryPoint entry_point,
    const Placement& placement, const BindOptions& options) {
  auto bound = std::make_shared<BoundEntryPoint>();
  const PlanKind kind = plan_of(entry_point);
  const CompiledProgram& program = compilation.program(kind);
  const Plan& plan = compilation.plan(kind);
  const std::vector<UnitId> units =
      units_of(program, plan, entry_point, options);
  std::ranges::copy_if(units, std::back_inserter(bound->units), [&](UnitId id) {
    return !program.lowered.units[id].is_host;
  });
  if (options.runs_host_units) {
    bound->host = bind_host_units(compilation, entry_point, placement, units,
                                  options.linked);
  }
  const std::vector<Mark> marks = marks_of(bound->host);
  if (!bound->units.empty() || !marks.empty()) {
    std::vector<Location> locations(program.lowered.storages.size());
    for (UnitId id : bound->units) {
      for (StorageId storage : program.lowered.units[id].args) {
        locations[storage] = placement.locate(program, plan, kind, storage);
      }
    }
    std::vector<std::vector<PoisonRange>> poison;
    if (options.poison_memory) {
      poison = poison_of(plan, bound->units, *placement.arena(kind));
    }
    bound->work = placement.context()->bind(program.lowered, bound->units,
                                            locations, poison, marks);
  }
  bound->outputs = OutputPlanner(compilation, entry_point, placement).run();
  return bound;
}

}  // namespace traingraph
