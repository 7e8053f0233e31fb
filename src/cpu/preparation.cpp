// SPDX-License-Identifier: MIT
#include "cpu/preparation.h"

#include <algorithm>

namespace traingraph::cpu {
namespace {

/// Appends the buffers of these storages, once each.
void add_buffers(std::vector<HostBuffer*>& buffers,
                 const std::vector<StorageId>& storages,
                 std::span<const Location> locations) {
  for (const StorageId storage : storages) {
    auto* const buffer = static_cast<HostBuffer*>(locations[storage].buffer);
    if (!buffer || std::ranges::find(buffers, buffer) != buffers.end()) {
      continue;
    }
    buffers.push_back(buffer);
  }
}

}  // namespace

Preparation::Preparation(const LoweredProgram& program,
                         std::span<const UnitId> units,
                         std::span<const Location> locations) {
  std::vector<HostBuffer*> sources, results;
  for (const UnitId id : units) {
    const Unit& unit = program.units[id];
    is_prepared_.push_back(unit.is_prepared);
    add_buffers(written_, unit.writes, locations);
    add_buffers(written_, unit.scratch, locations);
    if (!unit.is_prepared) continue;
    add_buffers(sources, unit.reads, locations);
    add_buffers(results, unit.writes, locations);
  }
  for (HostBuffer* buffer : results) results_.push_back({buffer, 0});
  for (HostBuffer* buffer : sources) {
    // What other prepared units of the run have made is watched with the rest.
    if (std::ranges::find(results, buffer) != results.end()) continue;
    sources_.push_back({buffer, 0});
  }
}

bool Preparation::begin() {
  const bool is_ready = is_made_ && std::ranges::all_of(sources_, is_same) &&
                        std::ranges::all_of(results_, is_same);
  is_made_ = false;
  // A run that writes where its prepared units read makes them anew the next
  // time. Where they write, the plan keeps all else away from the results.
  for (Watched& source : sources_)
    source.num_writes = source.buffer->num_writes();
  for (HostBuffer* buffer : written_) buffer->count_write();
  for (Watched& result : results_)
    result.num_writes = result.buffer->num_writes();
  return is_ready;
}

}  // namespace traingraph::cpu
