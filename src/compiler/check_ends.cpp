// SPDX-License-Identifier: MIT
#include "compiler/check_ends.h"

#include <algorithm>

namespace traingraph {
namespace {

class EndCheck {
 public:
  EndCheck(const LoweredProgram& lowered, const Plan& plan, PlanKind kind)
      : lowered_(lowered), plan_(plan), kind_(kind) {}

  std::string run() const {
    for (std::size_t at = 0; at < plan_.order.size(); ++at) {
      const Unit& unit = unit_at(at);
      for (const auto* list : {&unit.writes, &unit.scratch}) {
        for (const StorageId id : *list) {
          if (!lowered_.storages[id].is_read_at_end || stays(id, at)) continue;
          return "storage " + std::to_string(id) + " \"" +
                 lowered_.storages[id].name +
                 "\" is read when its run is over, but its bytes are used "
                 "again before";
        }
      }
    }
    return {};
  }

 private:
  const Unit& unit_at(std::size_t position) const {
    return lowered_.units[plan_.order[position]];
  }

  /// From the end of the unit that wrote it to the end of the run.
  bool stays(StorageId id, std::size_t written) const {
    if (plan_.offset_of[id] == Plan::kNotInArena) return true;
    for (std::size_t at = written; at < plan_.order.size(); ++at) {
      const bool is_over = kind_ == PlanKind::Phases &&
                           unit_at(at).phase != unit_at(written).phase;
      if (is_over) break;
      if (at > written && is_touched(id, unit_at(at))) return false;
      // What is freed after the last unit is freed after the end.
      const bool is_last = at + 1 == plan_.order.size() ||
                           (kind_ == PlanKind::Phases &&
                            unit_at(at + 1).phase != unit_at(written).phase);
      if (!is_last && is_freed(id, at)) return false;
    }
    return true;
  }

  bool is_touched(StorageId id, const Unit& unit) const {
    const auto overlaps = [&](StorageId other) {
      return other != id && plan_.offset_of[other] != Plan::kNotInArena &&
             overlap(id, plan_.offset_of[other],
                     lowered_.storages[other].bytes);
    };
    return std::ranges::any_of(unit.reads, overlaps) ||
           std::ranges::any_of(unit.writes, overlaps) ||
           std::ranges::any_of(unit.scratch, overlaps);
  }

  bool is_freed(StorageId id, std::size_t at) const {
    if (at >= plan_.freed_after.size()) return false;
    return std::ranges::any_of(plan_.freed_after[at],
                               [&](const ByteRange& range) {
                                 return overlap(id, range.offset, range.bytes);
                               });
  }

  bool overlap(StorageId id, std::size_t offset, std::size_t bytes) const {
    const std::size_t begin = plan_.offset_of[id];
    return begin < offset + bytes &&
           offset < begin + lowered_.storages[id].bytes;
  }

  const LoweredProgram& lowered_;
  const Plan& plan_;
  const PlanKind kind_;
};

}  // namespace

std::string check_ends(const LoweredProgram& lowered, const Plan& plan,
                       PlanKind kind) {
  return EndCheck(lowered, plan, kind).run();
}

}  // namespace traingraph
