// SPDX-License-Identifier: MIT
#include "runtime/device/verified_units.h"

#include <algorithm>

#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr int kNotInRun = -1;

class RunPlanner {
 public:
  RunPlanner(const LoweredProgram& device, std::span<const UnitId> units,
             std::span<const Location> locations,
             const ReferenceProgram& reference)
      : device_(device),
        locations_(locations),
        reference_(reference),
        program_(reference.program),
        unit_of_(program_.nodes().size(), kNotInRun),
        computed_by_(program_.values().size(), kNotInRun),
        holds_(reference.lowered.storages.size(), false) {
    for (UnitId id : units) {
      const auto& nodes = device.units[id].nodes;
      nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    }
    std::ranges::sort(nodes_);
    find_units();
    for (NodeId id : nodes_) {
      if (unit_of_[id] == kNotInRun) unit_of_[id] = unit_of_view(id);
      for (ValueId value : computed_by(program_.node(id))) {
        computed_by_[value] = std::max(computed_by_[value], unit_of_[id]);
      }
    }
  }

  int num_units() const { return std::max(static_cast<int>(units_.size()), 1); }

  /// Variables as well, which the run may change.
  std::vector<GivenTensor> given_first() {
    std::vector<GivenTensor> given;
    give(nodes_, given, [this](ValueId value) {
      const Value& it = program_.value(value);
      return it.role != Role::Result || computed_by_[value] == kNotInRun;
    });
    return given;
  }

  VerifiedUnit unit(int number, DeviceContext& context) {
    VerifiedUnit result;
    if (!units_.empty()) {
      const Unit& unit = reference_.lowered.units[units_[number]];
      give(unit.nodes, result.given, [&](ValueId value) {
        return computed_by_[value] != kNotInRun && computed_by_[value] < number;
      });
      std::vector<Location> places;
      for (const auto& buffer : reference_.buffers) {
        places.push_back({buffer.get(), 0});
      }
      result.reference = context.bind(
          reference_.lowered, std::span(&units_[number], 1), places, {}, {});
      for (StorageId storage : unit.writes) holds_[storage] = true;
    }
    for (NodeId id : nodes_) {
      if (unit_of_[id] == number) compare(id, result.compared);
    }
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

  /// Returns nothing where one of them does not hold the value by itself; what
  /// is opaque means something to its own device alone.
  GivenTensor places_of(ValueId value) const {
    if (program_.value(value).is_opaque) return {};
    const Location from = on_device(value);
    const StorageId to = reference_.lowered.storage_of[value];
    if (!from.buffer || to < 0) return {};
    return {from,
            {reference_.buffers[to].get(), 0},
            program_.desc(value).size_bytes()};
  }

  /// Lists what the nodes read, each once, of what `is_wanted`.
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

  /// Finds the reference's units that compute nodes of the run, for each node
  /// the last.
  void find_units() {
    const auto& units = reference_.lowered.units;
    for (UnitId id = 0; id < static_cast<UnitId>(units.size()); ++id) {
      bool is_one = false;
      for (NodeId node : units[id].nodes) {
        if (!std::ranges::binary_search(nodes_, node)) continue;
        unit_of_[node] = static_cast<int>(units_.size());
        is_one = true;
      }
      if (is_one) units_.push_back(id);
    }
  }

  /// A node that no unit computes is there with what it is a view of.
  int unit_of_view(NodeId id) const {
    int unit = 0;
    for (ValueId value : program_.node(id).inputs) {
      if (value != kNoValue) unit = std::max(unit, computed_by_[value]);
    }
    return unit;
  }

  /// A variable that a later unit of the run changes again is compared there.
  void compare(NodeId id, std::vector<VerifiedTensor>& compared) const {
    const Node& node = program_.node(id);
    for (ValueId v : computed_by(node)) {
      const Value& value = program_.value(v);
      if (!is_float(value.desc.data_type)) continue;
      if (computed_by_[v] != unit_of_[id]) continue;
      const GivenTensor places = places_of(v);
      if (!places.from.buffer) continue;
      if (!holds_[reference_.lowered.storage_of[v]]) continue;
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
  std::vector<UnitId> units_;  // of the reference, that the run is made of
  /// Indices in `units_`: by node; by value the last that computes or changes
  /// it.
  std::vector<int> unit_of_, computed_by_;
  /// Marks the reference's storages that hold what the run reads or computes.
  std::vector<bool> holds_;
};

}  // namespace

std::unique_ptr<VerifiedUnits> verify_units(const LoweredProgram& program,
                                            std::span<const UnitId> units,
                                            std::span<const Location> locations,
                                            const ReferenceProgram& reference,
                                            DeviceContext& context) {
  RunPlanner planner(program, units, locations, reference);
  auto verified =
      std::make_unique<VerifiedUnits>(units.size(), std::span<const Mark>());
  verified->given = planner.given_first();
  for (int i = 0; i < planner.num_units(); ++i) {
    VerifiedUnit unit = planner.unit(i, context);
    verified->has_16_bits |=
        std::ranges::any_of(unit.compared, [](const VerifiedTensor& it) {
          return it.tensor.desc.data_type != DataType::Float32;
        });
    verified->units.push_back(std::move(unit));
  }
  return verified;
}

}  // namespace traingraph
