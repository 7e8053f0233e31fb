// SPDX-License-Identifier: MIT
// Binding: the units of an entry point get addresses, and so does what the host
// gets after it. Allocates the arenas it needs.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/exchange/host_units.h"
#include "runtime/memory/placement.h"
#include "runtime/plans/plan_cache.h"
#include "traingraph/execution.h"

namespace traingraph {

/// What the host gets after an entry point: copies from the plan's arena into
/// an execution's staging buffer.
struct OutputPlan {
  struct Entry {
    std::string_view name;
    TensorDescriptor desc;
    Location from;
    std::size_t offset = 0;  // in the staging buffer
  };
  std::vector<Entry> outputs;  // declared outputs, by name
  std::vector<Entry> losses;   // all of them, or none
  /// Without a loss. With one it is the result, and with several their sum,
  /// for which there is room at the offset.
  std::optional<Entry> result;
  std::size_t sum_offset = 0;
  std::size_t bytes = 0;
};

struct BoundEntryPoint {
  std::vector<UnitId> units;
  std::unique_ptr<BoundUnits> work;  // null when there is nothing to run
  OutputPlan outputs;
  HostUnits host;
};

struct BindOptions {
  bool poison_memory = false;
  bool runs_host_units = false;
  const LinkedParts& linked;
};

std::shared_ptr<BoundEntryPoint> bind_entry_point(
    const Compilation& compilation, EntryPoint entry_point,
    const Placement& placement, const BindOptions& options);

}  // namespace traingraph
