// SPDX-License-Identifier: MIT
#include "compiler/check_ends.h"

#include <algorithm>
#include <array>

namespace traingraph {
namespace {

class EndCheck {
 public:
  EndCheck(const LoweredProgram& lowered, const Plan& plan, PlanKind kind)
      : lowered_(lowered), plan_(plan), kind_(kind) {}

  std::string run() const {
    for (int at = 0; at < static_cast<int>(plan_.order.size()); ++at) {
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
  const Unit& unit_at(int position) const {
    return lowered_.units[plan_.order[position]];
  }

  /// The bytes must stay from the end of the unit that wrote them to the end of
  /// the last run in which a unit has them.
  bool stays(StorageId id, int written) const {
    if (plan_.offset_of[id] == Plan::kNotInArena) return true;
    const int end = end_of(id);
    for (int at = written; at < end; ++at) {
      // What is freed after the last unit is freed after the end.
      if (is_freed(id, at) || is_touched(id, unit_at(at + 1))) return false;
    }
    return true;
  }

  /// Position of the last unit of that run.
  int end_of(StorageId id) const {
    const int num_units = static_cast<int>(plan_.order.size());
    if (kind_ != PlanKind::Phases) return num_units - 1;
    int end = -1;
    for (int at = 0; at < num_units; ++at) {
      const bool goes_on =
          at > 0 && end == at - 1 && unit_at(at).phase == unit_at(end).phase;
      if (goes_on || has(unit_at(at), id)) end = at;
    }
    return end;
  }

  static bool has(const Unit& unit, StorageId id) {
    const std::array lists{&unit.reads, &unit.writes, &unit.scratch};
    return std::ranges::any_of(lists, [id](const auto* list) {
      return std::ranges::find(*list, id) != list->end();
    });
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

  bool is_freed(StorageId id, int at) const {
    if (at >= static_cast<int>(plan_.freed_after.size())) return false;
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
