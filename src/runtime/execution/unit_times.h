// SPDX-License-Identifier: MIT
// What a measured execution took, unit by unit.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/execution/bind.h"

namespace traingraph {

/// Of an event of an ExchangePlan.
struct ExchangeTimes {
  double device = 0;    // that the device spent on it
  double transfer = 0;  // of the operation that it waited for
};

/// Of one execution; the device writes seconds while it runs.
struct UnitTimes {
  EntryPoint entry_point;
  std::shared_ptr<const Specialization> specialization;
  std::shared_ptr<const BoundEntryPoint> bound;
  std::vector<double> seconds;
  std::vector<ExchangeTimes> exchange;  // by event
  int ranks = 1;                        // that exchanged
  std::atomic<bool> succeeded = false;
};

}  // namespace traingraph
