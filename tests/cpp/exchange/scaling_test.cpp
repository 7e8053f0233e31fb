// SPDX-License-Identifier: MIT
// Predicted steps of several processes, by hand; what measured runs say of the
// exchange.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "exchange/rank_net.h"
#include "support/thread_collective.h"
#include "traingraph/insight_text.h"

namespace traingraph {
namespace {

using namespace testing;

UnitSpan unit(std::string_view phase, double seconds) {
  UnitSpan span;
  span.phase = phase;
  span.cost.seconds = span.cost.limit_seconds = seconds;
  return span;
}

/// Forward 1 s, gradients 2 s and 3 s, a bucket after each, an update of each
/// of 0.5 s.
template <class Tables>
Tables tables() {
  Tables t;
  t.units = {unit("forward", 1), unit("gradient", 2), unit("gradient", 3),
             unit("update", 0.5), unit("update", 0.5)};
  t.buckets = {
      {.name = "b", .bytes = 400, .sent_before = 2, .needed_before = 3},
      {.name = "a", .bytes = 800, .sent_before = 3, .needed_before = 4}};
  return t;
}

TEST(Scaling, OneProcessComputes) {
  const Scaling s = tables<Profile>().scaling(1, 1, 1);
  EXPECT_EQ(s.step_seconds, 7);
  EXPECT_EQ(s.compute_seconds, 7);
  EXPECT_EQ(s.wait_seconds, 0);
  EXPECT_EQ(s.exchange_seconds, 0);
  EXPECT_EQ(s.efficiency, 1);
}

TEST(Scaling, TransfersHideBehindUnits) {
  // Two ranks at 100 bytes/s without latency: the samples take 0.8 s, the
  // first bucket 4 s from second 3 on, the other 8 s from then on.
  const Scaling s = tables<Profile>().scaling(2, 100, 0);
  EXPECT_DOUBLE_EQ(s.exchange_seconds, 12.8);
  EXPECT_DOUBLE_EQ(s.step_seconds, 3 + 4 + 8 + 0.5);
  EXPECT_DOUBLE_EQ(s.compute_seconds, 7);
  EXPECT_DOUBLE_EQ(s.wait_seconds, 8.5);
  EXPECT_DOUBLE_EQ(s.efficiency, 7 / 15.5);
}

TEST(Scaling, LatencyCountsByRounds) {
  // Eight ranks, any bandwidth: three rounds of whole buckets. The second sum
  // begins at 6 s, since the first has come, and is waited for.
  const double latency = 0.25;
  const Scaling s = tables<Profile>().scaling(8, 1e30, latency);
  EXPECT_DOUBLE_EQ(s.exchange_seconds, 9 * latency);
  EXPECT_NEAR(s.step_seconds, 6 + 3 * latency + 0.5, 1e-9);
}

TEST(Scaling, LargeBucketsGoInParts) {
  // Each rank sends 2 (n - 1) / n of the bytes, instead of log2(n) times all.
  Profile one = tables<Profile>();
  one.buckets.resize(1);
  const double announced = 80 * 1023 / 100.0;
  EXPECT_NEAR(one.scaling(1024, 100, 0).exchange_seconds,
              announced + 2 * 4 * 1023 / 1024.0, 1e-9);
}

TEST(Scaling, ReportsTakeLimits) {
  Report report = tables<Report>();
  const Scaling s = report.scaling(2, 100, 0);
  EXPECT_DOUBLE_EQ(s.step_seconds, 15.5);
  report.units[0].cost.limit_seconds = kUnknown;
  EXPECT_THROW(report.scaling(2, 100, 0), StateError);
}

TEST(Scaling, RefusesWhatMakesNoSense) {
  const Profile profile = tables<Profile>();
  EXPECT_THROW(profile.scaling(0, 100, 0), InvalidArgument);
  EXPECT_THROW(profile.scaling(2, 0, 0), InvalidArgument);
  EXPECT_THROW(profile.scaling(2, kUnknown, 0), InvalidArgument);
  EXPECT_THROW(profile.scaling(2, 100, -1), InvalidArgument);
  EXPECT_THROW(profile.scaling(2, 100, kUnknown), InvalidArgument);
  EXPECT_THROW(Profile().scaling(2, 100, 0), StateError);
}

/// A step of two ranks, measured on the first.
class MeasuredExchange : public ::testing::Test {
 protected:
  static constexpr std::size_t kBuckets = 4;  // one for each parameter

  MeasuredExchange() {
    ThreadGroup ranks(2, {.longest_delay = std::chrono::milliseconds(2)});
    on_each_rank(2, [&](int rank) {
      RankOptions options;
      options.compile.data_parallel = {.collective = ranks[rank],
                                       .bucket_bytes = 1};
      RankNet net(options);
      for (int i = 0; i < 3; ++i) {
        net.t
            ->execute({{"x", RankNet::rows(net.x_data, 5, 0, 12)}},
                      {{"label", RankNet::rows(net.labels, 3, 0, 12)}}, {},
                      {.batch_size = 12, .per_layer_profiling = true})
            .wait();
      }
      if (rank != 0) return;
      report = net.t->report();
      profile = net.t->profile(runs);
    });
  }

  int runs = 3;
  Report report;
  Profile profile;
};

TEST_F(MeasuredExchange, HasBucketsInTheOrderOfSending) {
  for (const auto* buckets : {&report.buckets, &profile.buckets}) {
    ASSERT_EQ(buckets->size(), kBuckets);
    for (const BucketSpan& bucket : *buckets) {
      EXPECT_FALSE(bucket.name.empty());
      EXPECT_GT(bucket.bytes, 0u);
      EXPECT_LT(bucket.sent_before, bucket.needed_before + 1);
    }
    EXPECT_TRUE(std::ranges::is_sorted(*buckets, {}, &BucketSpan::sent_before));
  }
  for (std::size_t i = 0; i < kBuckets; ++i) {
    EXPECT_EQ(report.buckets[i].name, profile.buckets[i].name);
    EXPECT_EQ(report.buckets[i].bytes, profile.buckets[i].bytes);
    EXPECT_EQ(report.buckets[i].sent_before, profile.buckets[i].sent_before);
    EXPECT_EQ(report.buckets[i].needed_before,
              profile.buckets[i].needed_before);
  }
}

TEST_F(MeasuredExchange, HasWhatTheDeviceDidInOrder) {
  std::size_t sends = 0, transfers = 0, waits = 0;
  std::vector<std::pair<double, double>> device;  // start, end
  for (const UnitSpan& unit : profile.units) {
    device.emplace_back(unit.start, unit.start + unit.cost.seconds);
  }
  for (const ExchangeSpan& span : profile.exchange) {
    EXPECT_GE(span.seconds, 0);
    if (span.kind == "transfer") {
      ++transfers;
      EXPECT_GT(span.seconds, 0);
      continue;
    }
    ++(span.kind == "send" ? sends : waits);
    device.emplace_back(span.start, span.start + span.seconds);
  }
  // The samples are exchanged, too.
  EXPECT_EQ(sends, kBuckets + 1);
  EXPECT_EQ(transfers, kBuckets + 1);
  EXPECT_EQ(waits, kBuckets + 1);
  std::ranges::sort(device);
  for (std::size_t i = 1; i < device.size(); ++i) {
    EXPECT_GE(device[i].first, device[i - 1].second - 1e-12);
  }
}

TEST_F(MeasuredExchange, TraceHasTransfersBesideUnits) {
  const std::string trace = trace_json(profile);
  const auto count = [&](const std::string& part) {
    std::size_t times = 0;
    for (auto at = trace.find(part); at != trace.npos;
         at = trace.find(part, at + 1)) {
      ++times;
    }
    return times;
  };
  EXPECT_EQ(count(R"("name":"transfers")"), 1u);  // the track
  EXPECT_EQ(count(R"("name":"transfer )"), kBuckets + 1);
  EXPECT_EQ(count(R"("name":"wait )"), kBuckets + 1);
  EXPECT_EQ(count(R"("name":"send )"), kBuckets + 1);
}

}  // namespace
}  // namespace traingraph
