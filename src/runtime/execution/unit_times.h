// SPDX-License-Identifier: MIT
// What a measured execution took, unit by unit.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/execution/bind.h"

namespace traingraph {

/// Of one execution; the device writes seconds while it runs.
struct UnitTimes {
  EntryPoint entry_point;
  std::shared_ptr<const Specialization> specialization;
  std::shared_ptr<const BoundEntryPoint> bound;
  std::vector<double> seconds;
  HostTimes host;
  std::atomic<bool> succeeded = false;
};

}  // namespace traingraph
