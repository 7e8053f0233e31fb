// SPDX-License-Identifier: MIT
// Memory spans: which storage occupies which bytes of the arena, and when.
#include <algorithm>
#include <tuple>

#include "compiler/insight.h"

namespace traingraph {
namespace {

/// What is known of one storage in a plan.
struct Touched {
  StorageId id = -1;
  int first = -1, last = -1;  // positions that touch it
  bool is_scratch = false;
};

std::vector<Touched> touched_storages(const LoweredProgram& lowered,
                                      const Plan& plan) {
  std::vector<Touched> touched(lowered.storages.size());
  for (std::size_t i = 0; i < touched.size(); ++i) {
    touched[i].id = static_cast<StorageId>(i);
  }
  for (int position = 0; position < plan.begin_of[3]; ++position) {
    const Unit& unit = lowered.units[plan.order[position]];
    for (const auto* list : {&unit.reads, &unit.writes, &unit.scratch}) {
      for (StorageId id : *list) {
        if (touched[id].first < 0) touched[id].first = position;
        touched[id].last = position;
      }
    }
    for (StorageId id : unit.scratch) touched[id].is_scratch = true;
  }
  std::erase_if(touched, [&](const Touched& t) {
    return plan.offset_of[t.id] == Plan::kNotInArena ||
           lowered.storages[t.id].bytes == 0;
  });
  return touched;
}

class Roles {
 public:
  Roles(const CompiledProgram& compiled, const Plan& plan)
      : compiled_(compiled),
        plan_(plan),
        is_parameter_gradient_(compiled.lowered.storages.size(), false) {
    for (const Trained& trained : compiled.assembled.trained) {
      if (trained.gradient == kNoValue) continue;
      const StorageId id = compiled.lowered.storage_of[trained.gradient];
      if (id >= 0) is_parameter_gradient_[id] = true;
    }
  }

  std::string_view of(const Touched& touched) const {
    if (touched.is_scratch) return "scratch";
    if (is_parameter_gradient_[touched.id]) return "parameter gradient";
    const Phase first = phase_at(touched.first);
    if (first == Phase::Update) return "update";
    if (first == Phase::Gradient) return "gradient";
    return phase_at(touched.last) == Phase::Forward ? "forward" : "saved";
  }

 private:
  Phase phase_at(int position) const {
    return position < 0 ? Phase::Forward
                        : compiled_.lowered.units[plan_.order[position]].phase;
  }

  const CompiledProgram& compiled_;
  const Plan& plan_;
  std::vector<bool> is_parameter_gradient_;  // by storage
};

}  // namespace

std::vector<MemorySpan> memory_spans(const CompiledProgram& compiled,
                                     const Plan& plan) {
  std::vector<Touched> touched = touched_storages(compiled.lowered, plan);
  // Storages that follow each other in place become neighbours.
  const auto key = [&](const Touched& t) {
    return std::tuple(plan.lifetime_of[t.id], plan.offset_of[t.id], t.first);
  };
  std::ranges::sort(touched, {}, key);
  const Roles roles(compiled, plan);
  std::vector<MemorySpan> spans;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const Touched& t = touched[i];
    const auto shares_bytes_with = [&](std::size_t other) {
      return other < touched.size() &&
             plan.lifetime_of[touched[other].id] == plan.lifetime_of[t.id] &&
             plan.offset_of[touched[other].id] == plan.offset_of[t.id];
    };
    const Lifetime& lifetime = plan.lifetimes[plan.lifetime_of[t.id]];
    const Storage& storage = compiled.lowered.storages[t.id];
    MemorySpan span{
        .name = storage.name,
        .role = roles.of(t),
        .offset = plan.offset_of[t.id],
        .bytes = storage.bytes,
        .first = shares_bytes_with(i - 1) ? t.first : lifetime.first,
        .last = shares_bytes_with(i + 1) ? touched[i + 1].first - 1
                                         : lifetime.last};
    if (span.name.empty()) span.name = "storage " + std::to_string(t.id);
    if (span.first <= span.last) spans.push_back(std::move(span));
  }
  std::ranges::sort(spans, {}, [](const MemorySpan& span) {
    return std::pair(span.first, span.offset);
  });
  return spans;
}

}  // namespace traingraph
