// SPDX-License-Identifier: MIT
#include "compiler/schedule.h"

#include <algorithm>
#include <vector>

namespace traingraph {
namespace {

/// Units that must run before an update unit: the writers of what it reads,
/// and the other readers and earlier writers of what it writes.
class UpdateDependencies {
 public:
  explicit UpdateDependencies(const LoweredProgram& program)
      : followers_(program.units.size()), missing_(program.units.size(), 0) {
    std::vector<std::vector<UnitId>> writers(program.storages.size());
    std::vector<std::vector<UnitId>> readers(program.storages.size());
    const auto num_units = static_cast<UnitId>(program.units.size());
    for (UnitId id = 0; id < num_units; ++id) {
      for (StorageId s : program.units[id].writes) writers[s].push_back(id);
      for (StorageId s : program.units[id].reads) readers[s].push_back(id);
    }
    std::vector<UnitId> before;
    for (UnitId id = 0; id < num_units; ++id) {
      const Unit& unit = program.units[id];
      if (unit.phase != Phase::Update) continue;
      before.clear();
      for (StorageId s : unit.reads) add_earlier(writers[s], id, before);
      for (StorageId s : unit.writes) {
        add_earlier(writers[s], id, before);
        add_earlier(readers[s], id, before);
      }
      std::ranges::sort(before);
      before.erase(std::ranges::unique(before).begin(), before.end());
      missing_[id] = static_cast<int>(before.size());
      for (UnitId other : before) followers_[other].push_back(id);
    }
  }

  int missing(UnitId update) const { return missing_[update]; }

  /// Update units that become ready now that `unit` has run.
  template <class F>
  void emitted(UnitId unit, F&& ready) {
    for (UnitId follower : followers_[unit]) {
      if (--missing_[follower] == 0) ready(follower);
    }
  }

 private:
  static void add_earlier(const std::vector<UnitId>& units, UnitId id,
                          std::vector<UnitId>& before) {
    for (UnitId other : units) {
      if (other < id) before.push_back(other);
    }
  }

  std::vector<std::vector<UnitId>> followers_;
  std::vector<int> missing_;
};

}  // namespace

std::vector<UnitId> phase_order(const LoweredProgram& program) {
  std::vector<UnitId> order(program.units.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<UnitId>(i);
  }
  std::ranges::stable_sort(order, {},
                           [&](UnitId id) { return program.units[id].phase; });
  return order;
}

std::vector<UnitId> step_order(const LoweredProgram& program) {
  UpdateDependencies dependencies(program);
  std::vector<UnitId> order;
  std::vector<bool> is_emitted(program.units.size(), false);
  // Recursion depth is bounded by chains of update units (norm, scale, rule).
  const auto emit = [&](auto&& self, UnitId id) -> void {
    order.push_back(id);
    is_emitted[id] = true;
    dependencies.emitted(id, [&](UnitId next) { self(self, next); });
  };
  for (UnitId id : phase_order(program)) {
    const bool is_update = program.units[id].phase == Phase::Update;
    if (!is_update) emit(emit, id);
  }
  for (UnitId id = 0; id < static_cast<UnitId>(program.units.size()); ++id) {
    if (!is_emitted[id]) emit(emit, id);
  }
  return order;
}

}  // namespace traingraph
