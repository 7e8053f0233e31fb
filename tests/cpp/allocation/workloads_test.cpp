// SPDX-License-Identifier: MIT
// The benchmarks' networks at rest: after the first step nothing is allocated
// and the process does not grow; arenas are as small as what they hold.
#include <gtest/gtest.h>

#include <cstdio>

#include "allocation/count_allocations.h"
#include "support/benchmark_networks.h"

namespace traingraph {
namespace {

using namespace testing;

class Workload : public ::testing::TestWithParam<const char*> {
 protected:
  template <class Step>
  static Allocations count(const Step& step, std::size_t num_steps) {
    start_counting();
    for (std::size_t i = 0; i < num_steps; ++i) step();
    return stop_counting();
  }

  /// Steps take from 0.1 ms to 0.1 s; many are for races, few show the rest.
  std::size_t num_steps() const {
    return net.image_data.size() < 30'000 ? 100 : 10;
  }

  /// oneDNN makes a map of a primitive's arguments in each call and frees it;
  /// see "Allocations" in docs/performance.md.
  template <class Step>
  void expect_no_allocations(const char* name, const Step& step) {
    SCOPED_TRACE(name);
    step();
    const std::size_t device_bytes = t.memory().allocated_bytes;
    const ProcessMemory before = process_memory();
    const Allocations one = count(step, 1);
    const Allocations many = count(step, num_steps());
    const ProcessMemory after = process_memory();
    std::printf("%s, %s: %zu allocations in oneDNN\n", GetParam(), name,
                one.in_engine);
    EXPECT_EQ(one.ours, 0u);
    EXPECT_EQ(many.ours, 0u);
    EXPECT_EQ(many.in_engine, num_steps() * one.in_engine);
    EXPECT_EQ(t.memory().allocated_bytes, device_bytes);
    if (has_sanitizer()) return;
    EXPECT_EQ(after.mapped, before.mapped);
  }

  BenchmarkNetwork net{GetParam()};
  TrainingGraph t = net.train(Device::cpu());
};

TEST_P(Workload, AllocatesNothingIn16Bits) {
  const ExecuteOptions synchronous{.synchronous = true};
  for (Precision mixed : {Precision::MixedBFloat16, Precision::MixedFloat16}) {
    t = net.train(Device::cpu(), {.precision = mixed});
    expect_no_allocations(
        "step", [&] { t.execute(net.inputs, net.labels, {}, synchronous); });
  }
}

TEST_P(Workload, AllocatesNothingAfterTheFirstStep) {
  const ExecuteOptions synchronous{.synchronous = true};
  expect_no_allocations(
      "step", [&] { t.execute(net.inputs, net.labels, {}, synchronous); });
  expect_no_allocations("asynchronous step",
                        [&] { t.execute(net.inputs, net.labels).wait(); });
  expect_no_allocations("phases", [&] {
    t.execute_forward(net.inputs, net.labels, {}, synchronous);
    t.execute_gradient(synchronous);
    t.execute_optimizer_update(synchronous);
  });
  expect_no_allocations("queued phases", [&] {
    t.execute_forward(net.inputs, net.labels);
    t.execute_gradient();
    t.execute_optimizer_update().wait();
  });
}

void expect_tight(const char* name, const PlanMemory& plan) {
  std::printf("%s: arena %zu, live peak %zu, without reuse %zu\n", name,
              plan.arena_bytes, plan.live_peak_bytes, plan.unplanned_bytes);
  EXPECT_GT(plan.arena_bytes, 0u) << name;
  EXPECT_LE(plan.arena_bytes, plan.live_peak_bytes * 1.05) << name;
}

TEST_P(Workload, ArenasAreWithinFivePercentOfTheLivePeak) {
  const MemoryReport report = t.memory();
  expect_tight("step", report.step);
  expect_tight("phases", report.phases);
  expect_tight("inference", report.inference);
}

INSTANTIATE_TEST_SUITE_P(All, Workload, ::testing::ValuesIn(kBenchmarkNetworks),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ResidentMemory, IsFlatOverTenThousandSteps) {
  if (has_sanitizer()) GTEST_SKIP() << "sanitizers hold freed memory back";
  const BenchmarkNetwork net("mlp-tiny");
  TrainingGraph t = net.train(Device::cpu());
  const auto run = [&](int num_steps) {
    for (int i = 0; i < num_steps; ++i) {
      t.execute(net.inputs, net.labels).wait();
      t.execute_forward(net.inputs, net.labels);
      t.execute_gradient();
      t.execute_optimizer_update().wait();
      t.execute(net.inputs, {}, {}, {.forward_for_inference = true}).wait();
    }
  };
  run(1000);
  const std::size_t before = process_memory().resident;
  run(10'000);
  const std::size_t after = process_memory().resident;
  // Room for pages that are touched late: up to 70 KiB were seen beside other
  // work. The smallest chunk of malloc(), 32 bytes, lost once per step is twice
  // as much.
  EXPECT_LE(after, before + 160 * 1024);
}

}  // namespace
}  // namespace traingraph
