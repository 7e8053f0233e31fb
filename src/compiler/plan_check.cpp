// SPDX-License-Identifier: MIT
#include "compiler/plan_check.h"

#include <algorithm>
#include <span>
#include <sstream>
#include <utility>

#include "compiler/arena_contents.h"
#include "compiler/check_ends.h"
#include "compiler/check_prepared.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr int kNever = -1;

template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Rounds up by division: any alignment, unlike the planner's bit mask.
std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class Replay {
 public:
  Replay(const Program& program, const LoweredProgram& lowered,
         const Plan& plan, const PlanRequest& request)
      : program_(program), lowered_(lowered), plan_(plan), request_(request) {}

  /// Stops at the first problem.
  std::string run() {
    if (!check_order() || !check_offsets() || !check_gradient_block() ||
        !reserve_readable()) {
      return problem_;
    }
    find_expected_writers();
    last_writer_.assign(lowered_.storages.size(), kNever);
    for (std::size_t at = 0; at < plan_.order.size(); ++at) {
      const UnitId id = plan_.order[at];
      if (!check_apart(id) || !read(id) || !write(id)) return problem_;
      for (const ByteRange& range : freed_after(at)) {
        if (!free(id, range)) return problem_;
      }
    }
    check_last_writers();
    return problem_;
  }

 private:
  // --- words ---

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  std::string unit(UnitId id) const {
    const Unit& unit = lowered_.units[id];
    std::string text = "unit " + std::to_string(id);
    if (unit.nodes.empty()) return text;
    const auto node = static_cast<std::size_t>(unit.nodes.front());
    if (node >= program_.nodes().size()) return text;
    const Node& first = program_.nodes()[node];
    return text + " [" + (unit.is_reorder ? "reorder" : first.op->name) +
           " \"" + first.name + "\"]";
  }

  std::string storage(StorageId id) const {
    std::string text =
        message("storage ", id, " \"", lowered_.storages[id].name, "\"");
    if (!is_in_arena(id)) return text;
    return text + message(" [", begin(id), ", ", end(id), ")");
  }

  // --- facts ---

  bool is_persistent(StorageId id) const {
    const ValueId value = lowered_.storages[id].value;
    return value != kNoValue && program_.value(value).role != Role::Result;
  }
  bool is_in_arena(StorageId id) const {
    return plan_.offset_of[id] != Plan::kNotInArena && bytes(id) > 0;
  }
  std::size_t bytes(StorageId id) const { return lowered_.storages[id].bytes; }
  std::size_t begin(StorageId id) const { return plan_.offset_of[id]; }
  std::size_t end(StorageId id) const { return begin(id) + bytes(id); }
  StorageId storage_of(ValueId value) const {
    return value == kNoValue ? -1 : lowered_.storage_of[value];
  }
  std::span<const ByteRange> freed_after(std::size_t position) const {
    if (position >= plan_.freed_after.size()) return {};
    return plan_.freed_after[position];
  }
  template <class Action>
  static void for_each_touched(const Unit& unit, const Action& action) {
    for (const auto* list : {&unit.reads, &unit.writes, &unit.scratch}) {
      for (const StorageId id : *list) action(id);
    }
  }

  // --- before the replay ---

  /// Every unit once; phases in a row, unless it is a step, which interleaves
  /// updates.
  bool check_order() {
    std::vector<bool> is_ordered(lowered_.units.size(), false);
    for (const UnitId id : plan_.order) {
      if (id < 0 || static_cast<std::size_t>(id) >= is_ordered.size()) {
        return fail(message("the order names unit ", id, ", one of ",
                            is_ordered.size()));
      }
      if (is_ordered[id]) return fail(unit(id) + " is ordered twice");
      is_ordered[id] = true;
    }
    if (plan_.order.size() != lowered_.units.size()) {
      const auto missing = std::ranges::find(is_ordered, false);
      return fail(unit(static_cast<UnitId>(missing - is_ordered.begin())) +
                  " is not ordered");
    }
    if (plan_.begin_of[3] != static_cast<int>(plan_.order.size())) {
      return fail(message("the plan ends at ", plan_.begin_of[3], ": expected ",
                          plan_.order.size()));
    }
    return !request_.goes_by_phases() || check_phases();
  }

  bool check_phases() {
    for (int p = 0; p < 3; ++p) {
      const int first = plan_.begin_of[p], last = plan_.begin_of[p + 1];
      if (first < 0 || first > last || last > plan_.begin_of[3]) {
        return fail(message("phase ", p, " is from ", first, " to ", last));
      }
      for (int at = first; at < last; ++at) {
        const UnitId id = plan_.order[at];
        if (static_cast<int>(lowered_.units[id].phase) == p) continue;
        return fail(message(unit(id), " is of phase ",
                            static_cast<int>(lowered_.units[id].phase),
                            ", but runs in phase ", p));
      }
    }
    return plan_.begin_of[0] == 0 || fail("the plan does not begin at 0");
  }

  bool check_offsets() {
    const std::size_t arena = plan_.memory.arena_bytes;
    if (plan_.offset_of.size() != lowered_.storages.size()) {
      return fail(message("the plan has ", plan_.offset_of.size(),
                          " offsets: expected ", lowered_.storages.size()));
    }
    std::vector<bool> is_touched(lowered_.storages.size(), false);
    for (const Unit& unit : lowered_.units) {
      for_each_touched(unit, [&](StorageId id) { is_touched[id] = true; });
    }
    for (StorageId id = 0; id < static_cast<StorageId>(is_touched.size());
         ++id) {
      const bool is_placed = plan_.offset_of[id] != Plan::kNotInArena;
      if (is_placed && is_persistent(id)) {
        return fail(storage(id) + " is persistent, but in the arena");
      }
      if (!is_placed && is_touched[id] && !is_persistent(id) && bytes(id) > 0) {
        return fail(storage(id) + " has no place");
      }
      if (!is_in_arena(id)) continue;
      if (begin(id) % request_.alignment != 0) {
        return fail(
            message(storage(id), " is at no multiple of ", request_.alignment));
      }
      // Subtractions, so that absurd offsets cannot wrap around.
      const std::size_t size = padded(bytes(id), request_.alignment);
      if (size > arena || begin(id) > arena - size) {
        return fail(message(storage(id), " of ", bytes(id),
                            " bytes ends outside of the arena of ", arena));
      }
    }
    return true;
  }

  /// One block, in the order that was asked for, without gaps but for
  /// alignment.
  bool check_gradient_block() {
    if (!request_.keeps_gradients()) return true;
    std::size_t next = plan_.gradient_block.offset;
    std::vector<bool> is_placed(lowered_.storages.size(), false);
    for (const ValueId value : request_.gradients) {
      const StorageId id = storage_of(value);
      if (id < 0 || is_persistent(id) || bytes(id) == 0) continue;
      if (is_placed[id]) continue;  // two gradients may be one storage
      is_placed[id] = true;
      if (!is_in_arena(id)) return fail(storage(id) + " has no place");
      if (begin(id) != next) {
        return fail(message("gradient ", storage(id), " is not at ", next,
                            ", where the block goes on"));
      }
      exclusive_.push_back(id);
      next += padded(bytes(id), request_.alignment);
    }
    const std::size_t size = next - plan_.gradient_block.offset;
    if (size == plan_.gradient_block.bytes) return true;
    return fail(message("the gradient block has ", plan_.gradient_block.bytes,
                        " bytes: expected ", size));
  }

  /// What the host reads has its bytes from the beginning to the end.
  bool reserve_readable() {
    for (const ValueId value : request_.readable) {
      const StorageId id = storage_of(value);
      if (id >= 0 && is_in_arena(id)) exclusive_.push_back(id);
    }
    std::ranges::sort(exclusive_);
    exclusive_.erase(std::ranges::unique(exclusive_).begin(), exclusive_.end());
    is_exclusive_.assign(lowered_.storages.size(), false);
    for (const StorageId id : exclusive_) {
      if (const auto other = other_at(id)) {
        return fail("the host reads " + storage(id) + " and " +
                    storage(*other) + ", which overlap");
      }
      contents_.put(id, begin(id), end(id));
      is_exclusive_[id] = true;
    }
    return true;
  }

  /// Finds, for each storage that a unit reads, the unit that wrote it last
  /// when all run in the program's order.
  void find_expected_writers() {
    std::vector<UnitId> writer(lowered_.storages.size(), kNever);
    first_expected_.resize(lowered_.units.size());
    for (UnitId id = 0; id < static_cast<UnitId>(lowered_.units.size()); ++id) {
      const Unit& unit = lowered_.units[id];
      first_expected_[id] = expected_.size();
      for (const StorageId s : unit.reads) expected_.push_back(writer[s]);
      for (const StorageId s : unit.writes) writer[s] = id;
    }
    expected_last_ = std::move(writer);
  }

  // --- the replay ---

  bool may_share(const Unit& unit, StorageId a, StorageId b) const {
    if (begin(a) != begin(b) || end(a) != end(b)) return false;
    return std::ranges::any_of(unit.in_place, [&](const InPlace& pair) {
      return (pair.output == a && pair.input == b) ||
             (pair.output == b && pair.input == a);
    });
  }

  bool check_apart(UnitId id) {
    const Unit& touching = lowered_.units[id];
    auto& args = in_arena_;
    args.clear();
    for_each_touched(touching, [&](StorageId s) {
      if (is_in_arena(s)) args.push_back(s);
    });
    std::ranges::sort(args, {},
                      [&](StorageId s) { return std::pair(begin(s), s); });
    args.erase(std::ranges::unique(args).begin(), args.end());
    // Two that may share have the same bytes, so what overlaps the first of
    // them overlaps the second, too.
    std::size_t num_sharing = 0;
    for (std::size_t i = 1; i < args.size(); ++i) {
      const StorageId below = args[i - 1], above = args[i];
      if (end(below) <= begin(above)) {
        num_sharing = 0;
        continue;
      }
      if (num_sharing++ == 0 && may_share(touching, below, above)) continue;
      return fail(unit(id) + " touches " + storage(below) + " and " +
                  storage(above) + ", which overlap");
    }
    return true;
  }

  bool read(UnitId id) {
    const Unit& reader = lowered_.units[id];
    for (std::size_t i = 0; i < reader.reads.size(); ++i) {
      const StorageId s = reader.reads[i];
      const UnitId expected = expected_[first_expected_[id] + i];
      if (last_writer_[s] != expected) {
        return fail(unit(id) + " reads " + storage(s) + " as " +
                    written_by(last_writer_[s]) + " left it: expected " +
                    written_by(expected));
      }
      if (!is_in_arena(s)) continue;
      if (last_writer_[s] == kNever) {
        return fail(unit(id) + " reads " + storage(s) +
                    ", which no unit has written");
      }
      if (contents_.holds(s, begin(s), end(s))) continue;
      const auto other = other_at(s);
      return fail(unit(id) + " reads " + storage(s) + " of " +
                  written_by(last_writer_[s]) + ", but its bytes " +
                  (other ? "have gone to " + storage(*other) + " of " +
                               written_by(last_writer_[*other])
                         : std::string("were freed")));
    }
    return true;
  }

  /// Another storage whose contents lie where `id` is.
  std::optional<StorageId> other_at(StorageId id) const {
    return contents_.find(begin(id), end(id),
                          [&](StorageId s) { return s != id; });
  }

  std::string written_by(UnitId id) const {
    return id == kNever ? "no unit" : unit(id);
  }

  bool write(UnitId id) {
    const Unit& writer = lowered_.units[id];
    for (const auto* list : {&writer.scratch, &writer.writes}) {
      for (const StorageId s : *list) {
        last_writer_[s] = id;
        if (!is_in_arena(s)) continue;
        if (const auto other = read_by_host(begin(s), end(s), s)) {
          return fail(unit(id) + " writes " + storage(s) + over(*other));
        }
        contents_.put(s, begin(s), end(s));
      }
    }
    return true;
  }

  /// A storage other than `by` that the host reads, with any of these bytes.
  std::optional<StorageId> read_by_host(std::size_t begin, std::size_t end,
                                        StorageId by) const {
    return contents_.find(
        begin, end, [&](StorageId s) { return s != by && is_exclusive_[s]; });
  }
  std::string over(StorageId other) const {
    return " over " + storage(other) + ", which the host reads";
  }

  /// A debug option fills freed ranges with NaN.
  bool free(UnitId after, const ByteRange& range) {
    const std::size_t end = range.offset + range.bytes;
    if (const auto other = read_by_host(range.offset, end, /*by=*/-1)) {
      return fail(message("after ", unit(after), " [", range.offset, ", ", end,
                          ") is freed", over(*other)));
    }
    contents_.forget(range.offset, end);
    return true;
  }

  void check_last_writers() {
    for (StorageId s = 0; s < static_cast<StorageId>(last_writer_.size());
         ++s) {
      const bool is_left = is_persistent(s) || is_exclusive_[s];
      if (!is_left || last_writer_[s] == expected_last_[s]) continue;
      fail(storage(s) + " is left as " + written_by(last_writer_[s]) +
           " wrote it: expected " + written_by(expected_last_[s]));
      return;
    }
  }

  const Program& program_;
  const LoweredProgram& lowered_;
  const Plan& plan_;
  const PlanRequest& request_;
  std::string problem_;
  ArenaContents contents_;
  std::vector<StorageId> exclusive_;  // what the host reads
  std::vector<bool> is_exclusive_;
  std::vector<StorageId> in_arena_;          // of the unit that is checked
  std::vector<UnitId> expected_;             // unit by unit, as its reads
  std::vector<std::size_t> first_expected_;  // by unit
  std::vector<UnitId> expected_last_;        // by storage
  std::vector<UnitId> last_writer_;          // by storage
};

}  // namespace

std::string check_plan(const Program& program, const LoweredProgram& lowered,
                       const Plan& plan, const PlanRequest& request) {
  std::string problem = Replay(program, lowered, plan, request).run();
  if (problem.empty()) problem = check_ends(lowered, plan, request.kind);
  if (problem.empty()) problem = check_prepared(program, lowered, plan);
  return problem;
}

}  // namespace traingraph
