// SPDX-License-Identifier: MIT
#include "runtime/insight/exchange_spans.h"

#include <algorithm>
#include <string>

namespace traingraph {
namespace {

constexpr std::string_view kSend = "send", kTransfer = "transfer",
                           kWait = "wait";

/// Of an announcement or a bucket: where it was sent.
const ExchangeEvent& sending_of(const ExchangePlan& plan,
                                const ExchangeEvent& received) {
  const auto sent = received.step == ExchangeStep::Weigh
                        ? ExchangeStep::Announce
                        : ExchangeStep::Send;
  return *std::ranges::find_if(plan.events, [&](const ExchangeEvent& event) {
    return event.step == sent && event.bucket == received.bucket;
  });
}

}  // namespace

void add_exchange(const UnitTimes& part, int first_unit, Profile& profile) {
  const ExchangePlan& plan = part.bound->exchange;
  const std::size_t first_bucket = profile.buckets.size();
  for (const BoundBucket& bucket : plan.buckets) {
    profile.buckets.push_back({.name = first_and_last(bucket.parameters),
                               .bytes = bucket.values.size_bytes()});
  }
  for (std::size_t i = 0; i < plan.events.size(); ++i) {
    const ExchangeEvent& event = plan.events[i];
    const ExchangeTimes& times = part.exchange[i];
    const int before = first_unit + event.before;
    ExchangeSpan span{.name = kAnnouncement,
                      .kind = kSend,
                      .before = before,
                      .seconds = times.device};
    if (event.bucket >= 0) {
      BucketSpan& bucket = profile.buckets[first_bucket + event.bucket];
      const bool is_sent = event.step == ExchangeStep::Send;
      (is_sent ? bucket.sent_before : bucket.needed_before) = before;
      span.name = name_of(plan.buckets[event.bucket], event.bucket);
      span.bytes = bucket.bytes;
    }
    const bool is_received = event.step == ExchangeStep::Weigh ||
                             event.step == ExchangeStep::Receive;
    if (part.ranks == 1 && (is_received || event.bucket < 0)) continue;
    if (is_received) span.kind = kWait;
    profile.exchange.push_back(span);
    if (!is_received) continue;
    span.kind = kTransfer;
    span.before = first_unit + sending_of(plan, event).before;
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
