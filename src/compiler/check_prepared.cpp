// SPDX-License-Identifier: MIT
#include "compiler/check_prepared.h"

#include <algorithm>
#include <map>

namespace traingraph {
namespace {

class PreparedCheck {
 public:
  PreparedCheck(const Program& program, const LoweredProgram& lowered,
                const Plan& plan)
      : program_(program),
        lowered_(lowered),
        plan_(plan),
        is_written_in_runs_(lowered.storages.size(), false),
        is_prepared_(lowered.storages.size(), false) {}

  std::string run() {
    for (const Unit& unit : lowered_.units) {
      for (const StorageId id : unit.writes) {
        (unit.is_prepared ? is_prepared_ : is_written_in_runs_)[id] = true;
      }
    }
    for (UnitId id = 0; id < static_cast<UnitId>(lowered_.units.size()); ++id) {
      const Unit& unit = lowered_.units[id];
      const std::string problem =
          unit.is_prepared ? check_prepared(unit) : check_reads(unit);
      if (!problem.empty()) return "unit " + std::to_string(id) + problem;
    }
    return check_bytes();
  }

 private:
  std::string name(StorageId id) const {
    return "storage " + std::to_string(id) + " \"" +
           lowered_.storages[id].name + "\"";
  }

  std::string check_prepared(const Unit& unit) const {
    for (const StorageId id : unit.writes) {
      if (!is_written_in_runs_[id] && !has_role(id)) continue;
      return " is prepared, but writes " + name(id) +
             ", which is not its own alone";
    }
    for (const StorageId id : unit.reads) {
      const bool may_change = is_written_in_runs_[id] && !is_fill(id);
      if (!may_change &&
          (is_prepared_[id] || is_written_in_runs_[id] ||
           has_role(id, Role::Variable) || has_role(id, Role::Constant))) {
        continue;
      }
      return " is prepared, but reads " + name(id) + ", which runs change";
    }
    return {};
  }

  std::string check_reads(const Unit& unit) const {
    for (const StorageId id : unit.reads) {
      if (!is_prepared_[id] || lowered_.storages[id].is_kept) continue;
      return " reads " + name(id) +
             " of a unit that later runs leave out, but it is not kept";
    }
    return {};
  }

  /// Nothing else may have the bytes of what is kept, at any time.
  std::string check_bytes() const {
    std::map<std::size_t, StorageId> kept;  // by their ends
    const auto find = [&](std::size_t begin, std::size_t end) -> StorageId {
      const auto it = kept.upper_bound(begin);
      const bool overlaps = it != kept.end() && this->begin(it->second) < end;
      return overlaps ? it->second : -1;
    };
    const auto num_storages = static_cast<StorageId>(lowered_.storages.size());
    for (StorageId id = 0; id < num_storages; ++id) {
      if (!lowered_.storages[id].is_kept || !is_in_arena(id)) continue;
      if (const StorageId other = find(begin(id), end(id)); other >= 0) {
        return name(id) + " and " + name(other) + " are kept, but overlap";
      }
      kept[end(id)] = id;
    }
    for (StorageId id = 0; id < num_storages; ++id) {
      if (lowered_.storages[id].is_kept || !is_in_arena(id)) continue;
      if (const StorageId other = find(begin(id), end(id)); other >= 0) {
        return name(other) + " is kept, but " + name(id) + " has its bytes";
      }
    }
    for (const auto& ranges : plan_.freed_after) {
      for (const ByteRange& range : ranges) {
        const StorageId other = find(range.offset, range.offset + range.bytes);
        if (other >= 0) return name(other) + " is kept, but freed";
      }
    }
    return {};
  }

  /// All its writers read nothing.
  bool is_fill(StorageId storage) const {
    return std::ranges::all_of(lowered_.units, [&](const Unit& unit) {
      return unit.reads.empty() ||
             std::ranges::find(unit.writes, storage) == unit.writes.end();
    });
  }
  bool has_role(StorageId id, Role role) const {
    const ValueId value = lowered_.storages[id].value;
    return value != kNoValue && program_.value(value).role == role;
  }
  /// Is it an input, variable or constant?
  bool has_role(StorageId id) const {
    const ValueId value = lowered_.storages[id].value;
    return value != kNoValue && !has_role(id, Role::Result);
  }
  bool is_in_arena(StorageId id) const {
    return plan_.offset_of[id] != Plan::kNotInArena &&
           lowered_.storages[id].bytes > 0;
  }
  std::size_t begin(StorageId id) const { return plan_.offset_of[id]; }
  std::size_t end(StorageId id) const {
    return begin(id) + lowered_.storages[id].bytes;
  }

  const Program& program_;
  const LoweredProgram& lowered_;
  const Plan& plan_;
  std::vector<bool> is_written_in_runs_;  // by storage
  std::vector<bool> is_prepared_;  // by storage: a prepared unit writes it
};

}  // namespace

std::string check_prepared(const Program& program,
                           const LoweredProgram& lowered, const Plan& plan) {
  return PreparedCheck(program, lowered, plan).run();
}

}  // namespace traingraph
