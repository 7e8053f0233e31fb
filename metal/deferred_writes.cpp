// SPDX-License-Identifier: MIT
#include "metal/deferred_writes.h"

#include <algorithm>

#include "graph/op_def.h"

namespace traingraph::metal {

DeferredWrites::DeferredWrites(const Program& program,
                               const LowerOptions& options,
                               const std::vector<GpuUnit>& units)
    : program_(program),
      units_(units),
      is_one_run_(options.joins_phases || options.is_one_run) {
  for (Last& last : lasts_) {
    last.touched.assign(program.values().size(), -1);
    last.written.assign(program.values().size(), -1);
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    const int number = static_cast<int>(i);
    note(units[i], number);
    for (const GpuUnit& update : units[i].updates) note(update, number);
  }
}

/// `unit` may be an update of unit `number`.
void DeferredWrites::note(const GpuUnit& unit, int number) {
  // What the host changes behind all updates.
  if (unit.engine == Engine::Host && !unit.updated.empty()) return;
  Last& last = lasts_[run_of(number)];
  for (ValueId value : unit.feeds) last.touched[value] = number;
  for (const Mask& mask : unit.masks) {
    last.touched[mask.random_state] = number;
  }
  for (ValueId value : unit.updated) {
    last.touched[value] = last.written[value] = number;
  }
  for (const InPlaceUpdate& update : unit.in_place) {
    const Node& node = program_.node(update.node);
    for (int i = 0; i < static_cast<int>(update.inputs.size()); ++i) {
      const ValueId value = update.inputs[i].value;
      if (value == kNoValue) continue;
      last.touched[value] = number;
      if (mutates(node, i)) last.written[value] = number;
    }
  }
}

int DeferredWrites::run_of(int unit) const {
  return is_one_run_ ? 0 : static_cast<int>(units_[unit].phase);
}

AreDeferred DeferredWrites::of(int unit) const {
  const GpuUnit& gpu_unit = units_[unit];
  const std::vector<InPlaceUpdate>& updates = gpu_unit.in_place;
  AreDeferred deferred;
  for (const InPlaceUpdate& update : updates) {
    deferred.in_place.push_back(is_deferred(update, unit));
  }
  // Sums precede the updates that read them.
  for (std::size_t r = updates.size(); r-- > 0;) {
    if (deferred.in_place[r]) continue;
    for (std::size_t w = 0; w < r; ++w) {
      if (reads_of(updates[r], updates[w])) deferred.in_place[w] = false;
    }
  }
  for (ValueId value : gpu_unit.updated) {
    bool waits = last(unit).touched[value] <= unit;
    for (std::size_t u = 0; u < updates.size(); ++u) {
      waits = waits && (deferred.in_place[u] || !touches(updates[u], value));
    }
    deferred.updated.push_back(waits);
  }
  return deferred;
}

bool DeferredWrites::is_deferred(const InPlaceUpdate& update, int unit) const {
  const Node& node = program_.node(update.node);
  for (int i = 0; i < static_cast<int>(update.inputs.size()); ++i) {
    const ValueId value = update.inputs[i].value;
    if (value == kNoValue) continue;
    const auto& list =
        mutates(node, i) ? last(unit).touched : last(unit).written;
    if (list[value] > unit) return false;
  }
  return true;
}

bool DeferredWrites::touches(const InPlaceUpdate& update, ValueId value) const {
  return std::ranges::find(update.inputs, value,
                           &InPlaceUpdate::Input::value) != update.inputs.end();
}

bool DeferredWrites::reads_of(const InPlaceUpdate& reader,
                              const InPlaceUpdate& writer) const {
  const Node& node = program_.node(writer.node);
  for (int i = 0; i < static_cast<int>(writer.inputs.size()); ++i) {
    const ValueId value = writer.inputs[i].value;
    if (value == kNoValue || !mutates(node, i)) continue;
    if (touches(reader, value)) return true;
  }
  return false;
}

}  // namespace traingraph::metal
