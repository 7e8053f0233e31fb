// SPDX-License-Identifier: MIT
// Binding: units of a segment get addresses, at the segment's first use.
#include <algorithm>

#include "base/checked.h"
#include "graph/tensor_state.h"
#include "runtime/session.h"
#include "traingraph/error.h"

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

}  // namespace

std::shared_ptr<const BoundSegment> Session::bound(
    Specialization& specialization, Segment segment) {
  auto& slot = specialization.segments[static_cast<int>(segment)];
  if (slot) return slot;
  auto bound = std::make_shared<BoundSegment>();
  const PlanKind kind = plan_of(segment);
  const CompiledProgram& program = specialization.compilation.program(kind);
  const Plan& plan = specialization.compilation.plan(kind);
  bound->units = units_of(specialization, segment);
  if (!bound->units.empty()) {
    std::vector<Location> locations(program.lowered.storages.size());
    for (UnitId id : bound->units) {
      for (StorageId storage : program.lowered.units[id].args) {
        locations[storage] = locate(program, plan, arena(kind), storage);
      }
    }
    std::vector<std::vector<PoisonRange>> poison;
    // Verified graphs compare what has been freed, too.
    if (options_.poisons_memory && !options_.verify) {
      for (UnitId id : bound->units) {
        const auto position =
            std::ranges::find(plan.order, id) - plan.order.begin();
        auto& ranges = poison.emplace_back();
        for (const ByteRange& range : plan.freed_after[position]) {
          ranges.push_back(
              {arenas_[static_cast<int>(kind)]->at(range.offset), range.bytes});
        }
      }
    }
    bound->work =
        context_->bind(program.lowered, bound->units, locations, poison);
  }
  bound->outputs = outputs_of(specialization, segment);
  slot = std::move(bound);
  return slot;
}

std::vector<UnitId> Session::units_of(const Specialization& specialization,
                                      Segment segment) const {
  const PlanKind kind = plan_of(segment);
  const CompiledProgram& compiled = specialization.compilation.program(kind);
  const Plan& plan = specialization.compilation.plan(kind);
  const Program& program = compiled.assembled.program;
  const auto phase_begins = [&](int phase) { return plan.begin_of[phase]; };
  int first = 0, last = plan.begin_of[3];
  if (segment == Segment::Forward) last = phase_begins(1);
  if (segment == Segment::Gradient) {
    first = phase_begins(1);
    last = phase_begins(2);
  }
  if (segment == Segment::Update) first = phase_begins(2);

  const auto is_skipped = [&](NodeId id) {
    const Node& node = program.node(id);
    if (node.phase != Phase::Update || !node.outputs.empty()) return false;
    return skips_update(program.value(node.inputs[0]).tensor->id);
  };
  std::vector<bool> depends_on_labels = label_storage(compiled);
  std::vector<UnitId> units;
  for (int i = first; i < last; ++i) {
    const Unit& unit = compiled.lowered.units[plan.order[i]];
    if (std::ranges::any_of(unit.nodes, is_skipped)) continue;
    const bool needs_labels = std::ranges::any_of(
        unit.reads, [&](StorageId s) { return depends_on_labels[s]; });
    if (needs_labels && segment == Segment::InferenceWithoutLabels) {
      for (StorageId s : unit.writes) depends_on_labels[s] = true;
      continue;
    }
    units.push_back(plan.order[i]);
  }
  return units;
}

Location Session::locate(const CompiledProgram& program, const Plan& plan,
                         Arena& arena, StorageId storage) const {
  const std::size_t offset = plan.offset_of[storage];
  if (offset != Plan::kNotInArena) return arena.at(offset);
  const ValueId value = program.lowered.storages[storage].value;
  if (value == kNoValue) return {};
  const auto& tensor = program.assembled.program.value(value).tensor;
  if (!tensor) return {};
  const auto placed = placements_.find(tensor.get());
  return placed == placements_.end() ? Location{} : placed->second->locate();
}

OutputPlan Session::outputs_of(Specialization& specialization,
                               Segment segment) {
  OutputPlan outputs;
  if (segment == Segment::Update) return outputs;
  const PlanKind kind = plan_of(segment);
  const CompiledProgram& compiled = specialization.compilation.program(kind);
  const Plan& plan = specialization.compilation.plan(kind);
  const Assembled& assembled = compiled.assembled;
  const auto is_available = [&](ValueId value) {
    if (value == kNoValue || compiled.lowered.storage_of[value] < 0) {
      return false;
    }
    const NodeId producer = assembled.program.value(value).producer;
    const Phase phase =
        producer < 0 ? Phase::Forward : assembled.program.node(producer).phase;
    if (segment == Segment::Forward) return phase == Phase::Forward;
    if (segment == Segment::Gradient) return phase == Phase::Gradient;
    if (segment == Segment::InferenceWithoutLabels) {
      return !assembled.depends_on_labels[value];
    }
    return true;
  };
  const auto entry = [&](std::string_view name, ValueId value) {
    const StorageId storage = compiled.lowered.storage_of[value];
    OutputPlan::Entry result{name, assembled.program.desc(value),
                             locate(compiled, plan, arena(kind), storage),
                             outputs.bytes};
    outputs.bytes = checked_add(
        outputs.bytes,
        checked_align(result.desc.size_bytes(), kOutputAlignment, "outputs"),
        "outputs");
    return result;
  };
  for (const auto& [name, tensor] : *specialization.names) {
    const ValueId value = assembled.find(tensor);
    if (is_available(value)) outputs.outputs.push_back(entry(name, value));
  }
  if (segment == Segment::Gradient) return outputs;
  if (!assembled.losses.empty() &&
      std::ranges::all_of(assembled.losses, is_available)) {
    for (std::size_t i = 0; i < assembled.losses.size(); ++i) {
      outputs.losses.push_back(
          entry(assembled.loss_names[i], assembled.losses[i]));
    }
    if (outputs.losses.size() == 1) return outputs;
    outputs.sum_offset = outputs.bytes;
    outputs.bytes += kOutputAlignment;
  } else if (is_available(assembled.result)) {
    outputs.result = entry("result", assembled.result);
  }
  return outputs;
}

void Session::forget_bindings() {
  for (const auto& specialization : specializations_) {
    for (auto& segment : specialization->segments) segment.reset();
  }
}

}  // namespace traingraph
