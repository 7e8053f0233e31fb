// SPDX-License-Identifier: MIT
#include "compiler/plan.h"

#include <algorithm>

#include "base/checked.h"
#include "compiler/plan_check.h"
#include "compiler/schedule.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr int kUnused = -1;
constexpr const char* kBuffers = "the intermediate tensors";

/// A buffer is one or more storages that share bytes: a storage by itself, a
/// chain of in-place results, or the gradient block.
struct SharedBuffer {
  Lifetime lifetime{.bytes = 0, .first = kUnused, .last = kUnused};
  bool is_pinned = false;  // lives over the whole timeline, never in place
};

class Planner {
 public:
  Planner(const Program& program, const LoweredProgram& lowered,
          const PlanRequest& request)
      : program_(program), lowered_(lowered), request_(request) {}

  Plan run() {
    plan_.order = request_.goes_by_phases() ? phase_order(lowered_)
                                            : step_order(lowered_);
    find_phases();
    make_buffers();
    if (request_.reuses) merge_in_place();
    place();
    report();
    return std::move(plan_);
  }

 private:
  void find_phases() {
    const auto phase = [&](UnitId id) { return lowered_.units[id].phase; };
    for (int p = 0; p < 3; ++p) {
      plan_.begin_of[p] =
          static_cast<int>(std::ranges::lower_bound(
                               plan_.order, static_cast<Phase>(p), {}, phase) -
                           plan_.order.begin());
    }
    plan_.begin_of[3] = static_cast<int>(plan_.order.size());
  }

  bool is_persistent(StorageId id) const {
    const ValueId value = lowered_.storages[id].value;
    return value != kNoValue && program_.value(value).role != Role::Result;
  }

  void make_buffers() {
    const int last = std::max(0, plan_.begin_of[3] - 1);
    buffer_of_.assign(lowered_.storages.size(), kUnused);
    offset_in_buffer_.assign(lowered_.storages.size(), 0);
    if (request_.keeps_gradients()) make_gradient_block(last);
    for (StorageId id = 0; id < num_storages(); ++id) {
      if (is_persistent(id) || buffer_of_[id] != kUnused) continue;
      buffer_of_[id] = static_cast<int>(buffers_.size());
      buffers_.push_back({.lifetime = {lowered_.storages[id].bytes}});
      buffers_.back().lifetime.first = kUnused;
    }
    for (int position = 0; position < plan_.begin_of[3]; ++position) {
      const Unit& unit = lowered_.units[plan_.order[position]];
      for (const auto* list : {&unit.reads, &unit.writes, &unit.scratch}) {
        for (StorageId id : *list) touch(id, position);
      }
    }
    for (int position = 0; position < plan_.begin_of[3]; ++position) {
      const Unit& unit = lowered_.units[plan_.order[position]];
      for (const auto* list : {&unit.reads, &unit.writes, &unit.scratch}) {
        for (StorageId id : *list) {
          if (lowered_.storages[id].is_read_at_end) touch(id, end_of(unit));
        }
      }
    }
    for (ValueId value : request_.readable) {
      if (value == kNoValue) continue;
      const StorageId id = lowered_.storage_of[value];
      if (id < 0 || buffer_of_[id] == kUnused) continue;
      pin(buffers_[buffer_of_[id]], last);
    }
    for (StorageId id = 0; id < num_storages(); ++id) {
      if (lowered_.storages[id].is_kept) pin(buffers_[buffer_of_[id]], last);
    }
  }

  void make_gradient_block(int last) {
    SharedBuffer block;
    for (ValueId value : request_.gradients) {
      const StorageId id = lowered_.storage_of[value];
      if (id < 0 || is_persistent(id) || buffer_of_[id] != kUnused) continue;
      buffer_of_[id] = 0;
      offset_in_buffer_[id] = block.lifetime.bytes;
      block.lifetime.bytes =
          checked_add(block.lifetime.bytes, align(lowered_.storages[id].bytes),
                      "the block of gradients");
    }
    if (block.lifetime.bytes == 0) return;
    pin(block, last);
    buffers_.push_back(block);
    has_gradient_block_ = true;
  }

  /// Position of the last unit of the run that a unit belongs to.
  int end_of(const Unit& unit) const {
    const bool is_phase = request_.kind == PlanKind::Phases;
    return plan_.begin_of[is_phase ? static_cast<int>(unit.phase) + 1 : 3] - 1;
  }

  static void pin(SharedBuffer& buffer, int last) {
    buffer.lifetime.first = 0;
    buffer.lifetime.last = last;
    buffer.is_pinned = true;
  }

  void touch(StorageId id, int position) {
    if (buffer_of_[id] == kUnused) return;
    SharedBuffer& buffer = buffers_[buffer_of_[id]];
    if (buffer.is_pinned) return;
    if (buffer.lifetime.first == kUnused) buffer.lifetime.first = position;
    buffer.lifetime.last = std::max(buffer.lifetime.last, position);
  }

  /// An output takes over the bytes of an input that dies at this unit.
  void merge_in_place() {
    for (int position = 0; position < plan_.begin_of[3]; ++position) {
      const Unit& unit = lowered_.units[plan_.order[position]];
      for (const auto& [output, input] : unit.in_place) {
        if (try_merge(output, input, position)) break;
      }
    }
  }

  bool try_merge(StorageId output, StorageId input, int position) {
    const int to = buffer_of_[input], from = buffer_of_[output];
    if (to == kUnused || from == kUnused || to == from) return false;
    SharedBuffer& target = buffers_[to];
    SharedBuffer& source = buffers_[from];
    if (target.is_pinned || source.is_pinned) return false;
    if (target.lifetime.last != position) return false;
    if (source.lifetime.first != position) return false;
    if (target.lifetime.bytes != source.lifetime.bytes) return false;
    target.lifetime.last = source.lifetime.last;
    source.lifetime = {.bytes = 0, .first = kUnused, .last = kUnused};
    // `from` holds only the output: nothing took it over before it was written.
    buffer_of_[output] = to;
    return true;
  }

  void place() {
    std::vector<int> lifetime_of(buffers_.size(), kUnused);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Lifetime& lifetime = buffers_[i].lifetime;
      if (lifetime.first == kUnused || lifetime.bytes == 0) continue;
      lifetime_of[i] = static_cast<int>(plan_.lifetimes.size());
      plan_.lifetimes.push_back(lifetime);
    }
    ArenaModel model;
    if (const Plan* larger = request_.larger) {
      model = {larger->lifetimes, larger->offsets, larger->memory.arena_bytes};
    }
    const MemoryPlan memory = plan_memory(plan_.lifetimes, request_.alignment,
                                          request_.reuses, model);
    plan_.offsets = memory.offsets;
    plan_.memory.arena_bytes = memory.arena_bytes;
    plan_.memory.live_peak_bytes = memory.live_peak_bytes;

    plan_.offset_of.assign(lowered_.storages.size(), Plan::kNotInArena);
    plan_.lifetime_of.assign(lowered_.storages.size(), kUnused);
    for (StorageId id = 0; id < num_storages(); ++id) {
      if (buffer_of_[id] == kUnused) continue;
      const int lifetime = lifetime_of[buffer_of_[id]];
      if (lifetime == kUnused) continue;
      plan_.offset_of[id] = memory.offsets[lifetime] + offset_in_buffer_[id];
      plan_.lifetime_of[id] = lifetime;
    }
    if (has_gradient_block_) {
      plan_.gradient_block = {memory.offsets[lifetime_of[0]],
                              buffers_[0].lifetime.bytes};
    }
    find_freed_ranges(memory, lifetime_of);
  }

  void find_freed_ranges(const MemoryPlan& memory,
                         const std::vector<int>& lifetime_of) {
    plan_.freed_after.resize(plan_.order.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (lifetime_of[i] == kUnused || buffers_[i].is_pinned) continue;
      const Lifetime& lifetime = buffers_[i].lifetime;
      plan_.freed_after[lifetime.last].push_back(
          {memory.offsets[lifetime_of[i]], lifetime.bytes});
    }
  }

  void report() {
    PlanMemory& memory = plan_.memory;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Lifetime& lifetime = buffers_[i].lifetime;
      if (lifetime.first == kUnused) continue;
      memory.unplanned_bytes =
          checked_add(memory.unplanned_bytes, align(lifetime.bytes), kBuffers);
      const bool is_block = has_gradient_block_ && i == 0;
      if (is_block || lifetime.first == lifetime.last) continue;
      const bool is_saved = phase_at(lifetime.first) == Phase::Forward &&
                            phase_at(lifetime.last) == Phase::Gradient;
      if (!is_saved) continue;
      memory.saved_bytes =
          checked_add(memory.saved_bytes, lifetime.bytes, kBuffers);
    }
    for (ValueId value : request_.gradients) {
      const StorageId id = lowered_.storage_of[value];
      if (id < 0) continue;
      memory.gradient_bytes = checked_add(
          memory.gradient_bytes, lowered_.storages[id].bytes, kBuffers);
    }
    for (const Unit& unit : lowered_.units) {
      std::size_t scratch = 0;
      for (StorageId id : unit.scratch) {
        scratch = checked_add(scratch, lowered_.storages[id].bytes, kBuffers);
      }
      memory.workspace_bytes = std::max(memory.workspace_bytes, scratch);
    }
  }

  Phase phase_at(int position) const {
    return lowered_.units[plan_.order[position]].phase;
  }

  std::size_t align(std::size_t bytes) const {
    return checked_align(bytes, request_.alignment, kBuffers);
  }

  StorageId num_storages() const {
    return static_cast<StorageId>(lowered_.storages.size());
  }

  const Program& program_;
  const LoweredProgram& lowered_;
  const PlanRequest& request_;
  Plan plan_;
  std::vector<SharedBuffer> buffers_;
  std::vector<int> buffer_of_;                 // by storage
  std::vector<std::size_t> offset_in_buffer_;  // by storage
  bool has_gradient_block_ = false;            // then it is buffer 0
};

}  // namespace

Plan make_plan(const Program& program, const LoweredProgram& lowered,
               const PlanRequest& request) {
  Plan plan = Planner(program, lowered, request).run();
  const std::string problem = check_plan(program, lowered, plan, request);
  if (!problem.empty()) throw InternalError("memory plan: " + problem);
  return plan;
}

}  // namespace traingraph
