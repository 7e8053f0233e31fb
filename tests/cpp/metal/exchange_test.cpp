// SPDX-License-Identifier: MIT
// Gradients that leave the GPU while it computes the next ones. What ranks make
// of them is tested with all devices (tests/cpp/exchange).
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "metal/gpu_test.h"
#include "support/thread_collective.h"

namespace traingraph::testing {
namespace {

using Exchange = GpuTest;

/// Buckets of one or two gradients.
CompileOptions in_small_buckets(
    std::function<void(const GradientBucket&)> on_bucket) {
  CompileOptions options;
  options.data_parallel = {.bucket_bytes = 100,
                           .on_bucket = std::move(on_bucket)};
  return options;
}

TEST_F(Exchange, ABucketIsSentWhenTheNextUnitIsOnItsWay) {
  emulator::commit_and_continue_every(0);
  long before = 0;
  std::vector<long> encodes;
  SmallNet net(Device::gpu(), in_small_buckets([&](const GradientBucket&) {
                 encodes.push_back(emulator::counters().encodes - before);
               }));
  net.compile();
  net.step().wait();
  encodes.clear();
  before = emulator::counters().encodes;
  net.step().wait();
  // There are those of the forward pass, of the units up to the one that ends
  // with the bucket, and of the next one. Two buckets are complete at once, and
  // nothing follows the last.
  ASSERT_EQ(encodes.size(), 5u);
  EXPECT_EQ(encodes, (std::vector<long>{3, 4, 4, 5, 5}));
}

TEST_F(Exchange, AStepInPiecesIsTheStep) {
  for (const int every : {0, 1, 2}) {
    SCOPED_TRACE(every);
    emulator::commit_and_continue_every(every);
    Twins twins(in_small_buckets([](const GradientBucket&) {}));
    for (int i = 0; i < 4; ++i) {
      twins.gpu.step();
      twins.cpu.step();
    }
    twins.expect_equal();
    expect_near(twins.gpu.statistics(), twins.cpu.statistics(), 1e-5);
    twins.gpu.phases();
    twins.cpu.phases();
    twins.expect_equal();
  }
}

TEST_F(Exchange, WhatAHookChangesIsWhatTheUpdateGets) {
  SmallNet net(Device::gpu(),
               in_small_buckets([](const GradientBucket& bucket) {
                 std::ranges::fill(bucket.values, 0.0f);
               }));
  net.compile();
  const Floats before = net.parameters();
  net.step().wait();
  EXPECT_EQ(net.parameters(), before);
}

TEST_F(Exchange, AHookThatThrowsLeavesAllAsItWas) {
  for (const int failing : {0, 2}) {
    SmallNet net(Device::gpu(), in_small_buckets([&](const GradientBucket& b) {
                   if (b.index == failing) throw std::runtime_error("no room");
                 }));
    net.compile();
    const Floats before = net.parameters(), statistics = net.statistics();
    EXPECT_THROW(net.step().wait(), std::runtime_error);
    EXPECT_EQ(net.parameters(), before);
    EXPECT_EQ(net.statistics(), statistics);
  }
}

TEST_F(Exchange, AUnitThatFailsSendsNothingMore) {
  emulator::commit_and_continue_every(0);
  int num_buckets = 0;
  SmallNet net(Device::gpu(),
               in_small_buckets([&](const GradientBucket&) { ++num_buckets; }));
  net.compile();
  const Floats before = net.parameters();
  emulator::fail_command_buffer(1, /*after=*/2);
  EXPECT_THROW(net.step().wait(), DeviceError);
  EXPECT_LE(num_buckets, 1);
  EXPECT_EQ(net.parameters(), before);
}

/// Its moments are reduced between two units.
TEST_F(Exchange, StatisticsOfAllSamplesAreThoseOfTheBatchOfOneRank) {
  CompileOptions options = in_small_buckets({});
  options.data_parallel.collective = ThreadGroup(1)[0];
  options.data_parallel.synchronize_batch_norm = true;
  SmallNet synchronized(Device::gpu(), options), plain(Device::gpu(), {});
  for (SmallNet* net : {&synchronized, &plain}) {
    net->compile();
    for (int i = 0; i < 3; ++i) net->step().wait();
  }
  EXPECT_TRUE(synchronized.t->report().synchronize_batch_norm);
  expect_near(synchronized.parameters(), plain.parameters(), 1e-5);
  expect_near(synchronized.statistics(), plain.statistics(), 1e-5);
}
}  // namespace
}  // namespace traingraph::testing
