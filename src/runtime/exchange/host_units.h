// SPDX-License-Identifier: MIT
// The host units of an entry point, bound to memory, each before one of its
// device units: what it exchanges with other processes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "formulas/run_time_scalars.h"
#include "runtime/device/device_context.h"
#include "runtime/exchange/operation.h"
#include "runtime/exchange/shards.h"
#include "runtime/exchange/statistics.h"
#include "runtime/memory/placement.h"
#include "runtime/plans/entry_point.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

enum class ExchangeStep {
  Announce,
  Weigh,
  Merge,
  Send,
  Receive,
  SendLosses,
  ReceiveLosses,
  Gather,
};

struct ExchangeEvent {
  int before = 0;  // unit of the entry point
  ExchangeStep step = ExchangeStep::Announce;
  int bucket = -1;
  int statistics = -1;
};

struct BoundBucket {
  std::span<float> values;
  /// Between gradients, where other batch sizes have other tensors.
  std::vector<std::span<float>> gaps;
  std::vector<std::string_view> parameters;
  std::shared_ptr<const void> memory;  // keeps the values where they are
  std::shared_ptr<Operation> sum;
};

inline constexpr const char* kAnnouncement = "samples of all ranks";
inline constexpr const char* kLosses = "losses of all ranks";
inline constexpr const char* kShards = "parameters that others have updated";
/// "gradients 3 (dense_2/weights ... dense_1/bias)"
std::string name_of(const BoundBucket& bucket, int index);

struct HostUnits {
  std::vector<ExchangeEvent> events;  // in one order on all ranks
  std::vector<BoundBucket> buckets;
  std::int64_t numbers = 0;  // in all of them
  /// Where the weight of this process's gradients goes.
  std::vector<float*> weights;
  /// Pairs by which gradients of parameters are added up, where passes that are
  /// averaged have weights.
  std::span<formulas::AccumulationFactors> factors;
  /// Gradients have been added up without weights, which they get now.
  bool weighs_sums = false;
  std::vector<BoundStatistics> statistics;
  BoundShards shards;          // that are gathered
  std::vector<float*> losses;  // that are summed
};

/// What an execution spent on an event.
struct EventTimes {
  double device = 0;    // that the device waited
  double transfer = 0;  // of the operation that it waited for
};

struct HostTimes {
  std::vector<EventTimes> events;
  int ranks = 1;

  /// Of an execution that begins.
  void start(std::size_t num_events) {
    events.assign(num_events, {});
    ranks = 1;
  }
};

/// Where the events are in the work of the entry point, in their order.
std::vector<Mark> marks_of(const HostUnits& units);

/// Empty when the entry point exchanges nothing. `units` are those of the entry
/// point, those of the host included.
HostUnits bind_host_units(const Compilation& compilation,
                          EntryPoint entry_point, const Placement& placement,
                          std::span<const UnitId> units,
                          const LinkedParts& linked);

}  // namespace traingraph
