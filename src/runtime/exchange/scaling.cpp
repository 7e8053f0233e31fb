// SPDX-License-Identifier: MIT
// What a step takes on several processes: the schedule of units and buckets,
// replayed against a model of the network (docs/scaling.md).
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include "compiler/row_costs.h"
#include "runtime/exchange/call_header.h"
#include "traingraph/error.h"
#include "traingraph/insight.h"

namespace traingraph {
namespace {

constexpr const char* kOp = "scaling";
/// Each process says this of its batch before the gradients.
constexpr double kAnnouncedBytes = sizeof(CallHeader);

struct Network {
  int ranks;
  double bandwidth, latency;

  double rounds() const { return std::ceil(std::log2(ranks)); }
  /// Sums by recursive doubling, all bytes in each round; or halved from round
  /// to round, summed and gathered again, whichever is faster.
  double all_reduce(double bytes) const {
    const double whole = rounds() * (latency + bytes / bandwidth);
    const double in_parts =
        2 * (rounds() * latency + bytes * (ranks - 1) / ranks / bandwidth);
    return std::min(whole, in_parts);
  }
  double all_gather(double bytes) const {
    return rounds() * latency + bytes * (ranks - 1) / bandwidth;
  }
};

void require(const char* name, bool is_right, const char* expected,
             const std::string& got) {
  if (is_right) return;
  throw InvalidArgument(ErrorInfo{.op = kOp,
                                  .node = name,
                                  .what = "is out of range",
                                  .expected = expected,
                                  .got = got});
}

void require_network(const Network& network) {
  require("ranks", network.ranks >= 1, "1 or more",
          std::to_string(network.ranks));
  require("bandwidth", network.bandwidth > 0, "more than 0 bytes per second",
          std::to_string(network.bandwidth));
  require("latency", network.latency >= 0 && std::isfinite(network.latency),
          "0 or more seconds", std::to_string(network.latency));
}

/// Models one transfer at a time, in the order of sending.
class Channel {
 public:
  /// Returns when it is over.
  double transfer(double now, double seconds) {
    busy_ += seconds;
    return free_ = std::max(free_, now) + seconds;
  }
  double busy() const { return busy_; }

 private:
  double free_ = 0, busy_ = 0;
};

void require_gradients_only(bool shard_optimizer, bool synchronize_batch_norm) {
  if (shard_optimizer) {
    throw UnsupportedError(ErrorInfo{
        .op = kOp,
        .what = "the model has no optimizer that processes shard",
        .hint = "Ask a graph that was compiled without shard_optimizer."});
  }
  if (!synchronize_batch_norm) return;
  throw UnsupportedError(ErrorInfo{
      .op = kOp,
      .what = "the model has no statistics that processes exchange",
      .hint = "Ask a graph that was compiled without synchronize_batch_norm."});
}

Scaling replay(std::span<const UnitSpan> units,
               std::span<const BucketSpan> buckets, const Network& network,
               const std::function<double(const UnitSpan&)>& seconds) {
  require_network(network);
  if (buckets.empty()) {
    throw StateError(ErrorInfo{
        .op = kOp,
        .what = "the graph exchanges no gradients",
        .expected = "a training graph that was compiled with a collective",
        .hint = "Without other processes, compile it with a hook on_bucket "
                "that does nothing."});
  }
  const auto forward_end =
      std::ranges::find_if(units,
                           [](const UnitSpan& unit) {
                             return unit.phase != kPhaseNames.front();
                           }) -
      units.begin();
  Channel channel;
  std::vector<double> arrival(buckets.size());
  double now = 0, compute = 0;
  const double announced = channel.transfer(
      0, network.ranks == 1 ? 0 : network.all_gather(kAnnouncedBytes));
  for (std::size_t at = 0; at <= units.size(); ++at) {
    const auto position = static_cast<int>(at);
    if (position == forward_end) now = std::max(now, announced);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].sent_before != position) continue;
      const auto bytes = static_cast<double>(buckets[b].bytes);
      arrival[b] = channel.transfer(
          now, network.ranks == 1 ? 0 : network.all_reduce(bytes));
    }
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].needed_before != position) continue;
      now = std::max(now, arrival[b]);
    }
    if (at == units.size()) break;
    now += seconds(units[at]);
    compute += seconds(units[at]);
  }
  return {.ranks = network.ranks,
          .step_seconds = now,
          .compute_seconds = compute,
          .wait_seconds = now - compute,
          .exchange_seconds = channel.busy(),
          .efficiency = now > 0 ? compute / now : 1};
}

}  // namespace

Scaling Report::scaling(int ranks, double bandwidth, double latency) const {
  require_gradients_only(shard_optimizer, synchronize_batch_norm);
  const bool is_known = std::ranges::none_of(units, [](const UnitSpan& unit) {
    return std::isnan(unit.cost.limit_seconds);
  });
  if (!buckets.empty() && !is_known) {
    throw StateError(
        ErrorInfo{.op = kOp,
                  .what = "nothing is known of the device's speed",
                  .expected = "measured runs",
                  .hint = "Run some executions with per_layer_profiling, and "
                          "ask profile() instead."});
  }
  return replay(units, buckets, {ranks, bandwidth, latency},
                [](const UnitSpan& unit) { return unit.cost.limit_seconds; });
}

Scaling Profile::scaling(int ranks, double bandwidth, double latency) const {
  require_gradients_only(shard_optimizer, synchronize_batch_norm);
  return replay(units, buckets, {ranks, bandwidth, latency},
                [](const UnitSpan& unit) { return unit.cost.seconds; });
}

}  // namespace traingraph
