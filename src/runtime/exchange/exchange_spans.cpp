// SPDX-License-Identifier: MIT
#include "runtime/exchange/exchange_spans.h"

#include <algorithm>
#include <string>

#include "compiler/distribution/collectives.h"

namespace traingraph {
namespace {

constexpr std::string_view kSend = "send", kTransfer = "transfer",
                           kWait = "wait";

/// Returns the step that began what ends with `step`.
ExchangeStep sending(ExchangeStep step) {
  switch (step) {
    case ExchangeStep::Weigh:
      return ExchangeStep::Announce;
    case ExchangeStep::Receive:
      return ExchangeStep::Send;
    case ExchangeStep::ReceiveLosses:
      return ExchangeStep::SendLosses;
    case ExchangeStep::Announce:
    case ExchangeStep::Merge:
    case ExchangeStep::Send:
    case ExchangeStep::SendLosses:
    case ExchangeStep::Gather:
      break;
  }
  return step;
}

const ExchangeEvent& sending_of(const HostUnits& units,
                                const ExchangeEvent& received) {
  const ExchangeStep sent = sending(received.step);
  return *std::ranges::find_if(units.events, [&](const ExchangeEvent& event) {
    return event.step == sent && event.bucket == received.bucket;
  });
}

std::string name_of(const HostUnits& units, const ExchangeEvent& event) {
  switch (event.step) {
    case ExchangeStep::Announce:
    case ExchangeStep::Weigh:
      return kAnnouncement;
    case ExchangeStep::Merge:
      return name_of(units.statistics[event.statistics]);
    case ExchangeStep::SendLosses:
    case ExchangeStep::ReceiveLosses:
      return kLosses;
    case ExchangeStep::Gather:
      return kShards;
    case ExchangeStep::Send:
    case ExchangeStep::Receive:
      break;
  }
  return name_of(units.buckets[event.bucket], event.bucket);
}

}  // namespace

void add_exchange(const HostUnits& units, const HostTimes& all, int first_unit,
                  Profile& profile) {
  const std::size_t first_bucket = profile.buckets.size();
  for (const BoundBucket& bucket : units.buckets) {
    profile.buckets.push_back({.name = first_and_last(bucket.parameters),
                               .bytes = bucket.values.size_bytes()});
  }
  if (units.shards.longest_bytes > 0) profile.shard_optimizer = true;
  if (!units.statistics.empty()) profile.synchronize_batch_norm = true;
  for (std::size_t i = 0; i < units.events.size(); ++i) {
    const ExchangeEvent& event = units.events[i];
    const EventTimes& times = all.events[i];
    const int before = first_unit + event.before;
    const bool is_received = sending(event.step) != event.step;
    ExchangeSpan span{.name = name_of(units, event),
                      .kind = kSend,
                      .before = before,
                      .seconds = times.device};
    if (event.bucket >= 0) {
      BucketSpan& bucket = profile.buckets[first_bucket + event.bucket];
      span.bytes = bucket.bytes;
      (is_received ? bucket.needed_before : bucket.sent_before) = before;
    }
    // One process sends nothing: it only has its hook.
    if (all.ranks == 1 && event.step != ExchangeStep::Send) continue;
    if (event.step == ExchangeStep::Merge) {
      span.bytes = units.statistics[event.statistics].values.size_bytes();
    }
    // Shards and statistics are sent and waited for at once.
    const bool is_both =
        event.step == ExchangeStep::Gather || event.step == ExchangeStep::Merge;
    if (is_received || is_both) span.kind = kWait;
    profile.exchange.push_back(span);
    if (!is_received) continue;
    span.kind = kTransfer;
    span.before = first_unit + sending_of(units, event).before;
    span.seconds = times.transfer;
    profile.exchange.push_back(span);
  }
}

void set_starts(Profile& profile) {
  auto next = profile.exchange.begin();
  double now = 0;
  const auto go_on = [&](int unit) {
    for (; next != profile.exchange.end(); ++next) {
      if (next->kind == kTransfer) continue;
      if (next->before > unit) return;
      next->start = now;
      now += next->seconds;
    }
  };
  const int num_units = static_cast<int>(profile.units.size());
  for (int unit = 0; unit < num_units; ++unit) {
    go_on(unit);
    profile.units[unit].start = now;
    now += profile.units[unit].cost.seconds;
  }
  go_on(num_units);
  for (ExchangeSpan& span : profile.exchange) {
    if (span.kind != kTransfer) continue;
    const auto sent =
        std::ranges::find_if(profile.exchange, [&](const ExchangeSpan& other) {
          return other.kind == kSend && other.name == span.name &&
                 other.before == span.before;
        });
    span.start = sent->start;
  }
}

}  // namespace traingraph
