// SPDX-License-Identifier: MIT
#include "runtime/device/verified_units.h"

#include <algorithm>

#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr int kNoPhase = -1;

class RunPlanner {
 public:
  RunPlanner(const LoweredProgram& device, std::span<const UnitId> units,
             std::span<const Location> locations,
             const ReferenceProgram& reference)
      : device_(device),
        locations_(locations),
        reference_(reference),
        program_(reference.program),
        computed_in_(program_.values().size(), kNoPhase),
        holds_(reference.lowered.storages.size(), false) {
    for (UnitId id : units) {
      const auto& nodes = device.units[id].nodes;
      nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    }
    std::ranges::sort(nodes_);
    for (NodeId id : nodes_) {
      const Node& node = program_.node(id);
      for (ValueId value : computed_by(node)) {
        computed_in_[value] =
            std::max(computed_in_[value], static_cast<int>(node.phase));
      }
    }
  }

  /// Variables as well, which the run may change.
  std::vector<GivenTensor> given_first() {
    std::vector<GivenTensor> given;
    give(nodes_, given, [this](ValueId value) {
      const Value& it = program_.value(value);
      return it.role != Role::Result || computed_in_[value] == kNoPhase;
    });
    return given;
  }

  bool has(Phase phase) const {
    return std::ranges::any_of(
        nodes_, [&](NodeId id) { return program_.node(id).phase == phase; });
  }

  VerifiedPhase phase(Phase phase, DeviceContext& context) {
    const int number = static_cast<int>(phase);
    std::vector<NodeId> nodes = nodes_;
    std::erase_if(nodes,
                  [&](NodeId id) { return program_.node(id).phase != phase; });
    VerifiedPhase result;
    give(nodes, result.given, [&](ValueId value) {
      const int computed_in = computed_in_[value];
      return computed_in != kNoPhase && computed_in < number;
    });
    const std::vector<UnitId> units = units_of(nodes);
    std::vector<Location> places;
    for (const auto& buffer : reference_.buffers) {
      places.push_back({buffer.get(), 0});
    }
    result.reference = context.bind(reference_.lowered, units, places, {});
    for (UnitId id : units) {
      for (StorageId s : reference_.lowered.units[id].writes) holds_[s] = true;
    }
    for (NodeId id : nodes) compare(program_.node(id), result.compared);
    return result;
  }

 private:
  /// Results, and variables that the node changes.
  std::vector<ValueId> computed_by(const Node& node) const {
    std::vector<ValueId> values = node.outputs;
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      if (mutates(node, i)) values.push_back(node.inputs[i]);
    }
    return values;
  }

  Location on_device(ValueId value) const {
    const StorageId storage = device_.storage_of[value];
    return storage < 0 ? Location{} : locations_[storage];
  }

  /// Empty where one of them does not hold the value by itself; what is opaque
  /// means something to its own device alone.
  GivenTensor places_of(ValueId value) const {
    if (program_.value(value).is_opaque) return {};
    const Location from = on_device(value);
    const StorageId to = reference_.lowered.storage_of[value];
    if (!from.buffer || to < 0) return {};
    return {from,
            {reference_.buffers[to].get(), 0},
            program_.desc(value).size_bytes()};
  }

  /// What the nodes read, each once, of what `is_wanted`.
  template <class IsWanted>
  void give(std::span<const NodeId> nodes, std::vector<GivenTensor>& given,
            IsWanted is_wanted) {
    std::vector<bool> is_given(program_.values().size(), false);
    for (NodeId id : nodes) {
      for (ValueId value : program_.node(id).inputs) {
        if (value == kNoValue || is_given[value] || !is_wanted(value)) continue;
        const GivenTensor tensor = places_of(value);
        if (!tensor.from.buffer) continue;
        is_given[value] = true;
        given.push_back(tensor);
        holds_[reference_.lowered.storage_of[value]] = true;
      }
    }
  }

  /// Of the reference, those that compute the nodes.
  std::vector<UnitId> units_of(std::span<const NodeId> nodes) const {
    const auto& units = reference_.lowered.units;
    std::vector<UnitId> found;
    for (UnitId id = 0; id < static_cast<UnitId>(units.size()); ++id) {
      const bool is_one = std::ranges::any_of(
          units[id].nodes,
          [&](NodeId node) { return std::ranges::binary_search(nodes, node); });
      if (is_one) found.push_back(id);
    }
    return found;
  }

  /// A variable that a later phase of the run changes again is compared there.
  void compare(const Node& node, std::vector<VerifiedTensor>& compared) const {
    for (ValueId id : computed_by(node)) {
      const Value& value = program_.value(id);
      if (!is_float(value.desc.data_type)) continue;
      if (computed_in_[id] != static_cast<int>(node.phase)) continue;
      const GivenTensor places = places_of(id);
      if (!places.from.buffer) continue;
      if (!holds_[reference_.lowered.storage_of[id]]) continue;
      compared.push_back({{value.desc, value.name, node.name, node.phase},
                          places.from,
                          places.to});
    }
  }

  const LoweredProgram& device_;
  std::span<const Location> locations_;
  const ReferenceProgram& reference_;
  const Program& program_;
  std::vector<NodeId> nodes_;  // of the run, in program order
  /// By value: the last phase of the run that computes or changes it.
  std::vector<int> computed_in_;
  /// By storage of the reference: does it hold what the run reads or computes?
  std::vector<bool> holds_;
};

}  // namespace

std::unique_ptr<VerifiedUnits> verify_units(const LoweredProgram& program,
                                            std::span<const UnitId> units,
                                            std::span<const Location> locations,
                                            const ReferenceProgram& reference,
                                            DeviceContext& context) {
  RunPlanner planner(program, units, locations, reference);
  auto verified = std::make_unique<VerifiedUnits>();
  verified->given = planner.given_first();
  for (Phase phase : {Phase::Forward, Phase::Gradient, Phase::Update}) {
    if (!planner.has(phase)) continue;
    verified->phases.push_back(planner.phase(phase, context));
  }
  return verified;
}

}  // namespace traingraph
