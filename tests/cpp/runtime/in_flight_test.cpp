// SPDX-License-Identifier: MIT
// The number of executions in flight is bounded, and so is what they hold.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "runtime/null_device.h"
#include "runtime/session/session.h"

namespace traingraph {
namespace {

using namespace testing;

class InFlight : public NullDevice {
 protected:
  void execute() { t.execute(a.net.inputs, a.net.labels); }

  Named a{"a"};
  TrainingGraph t = a.train();
};

TEST_F(InFlight, CallersWaitForRoom) {
  Gate gate("a");
  std::atomic<int> returned = 0;
  std::thread caller([&] {
    for (int i = 0; i < 3 * kMaxInFlight; ++i) {
      execute();
      ++returned;
    }
  });
  gate.wait_until_reached();
  while (returned < kMaxInFlight) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(returned, kMaxInFlight);
  // Whoever waits for room holds nobody else up.
  EXPECT_EQ(t.compile_count(), 1);
  EXPECT_GT(t.memory().staging_bytes, 0u);
  gate.open();
  caller.join();
  t.synchronize();
  EXPECT_EQ(t.random_step(), 3u * kMaxInFlight);
}

TEST_F(InFlight, ACallbackMayCallTheFullGraph) {
  Gate gate("a");
  std::atomic<int> left = 3 * kMaxInFlight;
  std::promise<void> all_done;
  const ExecuteOptions options{.completion_handler = [&](const Execution&) {
    execute();
    if (--left == 0) all_done.set_value();
  }};
  std::thread caller([&] {
    for (int i = 0; i < 3 * kMaxInFlight; ++i) {
      t.execute(a.net.inputs, a.net.labels, {}, options);
    }
  });
  gate.wait_until_reached();
  gate.open();
  caller.join();
  all_done.get_future().wait();
  t.synchronize();
  EXPECT_EQ(t.random_step(), 6u * kMaxInFlight);
}

TEST_F(InFlight, RefusedCallsTakeNoRoom) {
  for (int i = 0; i < 2 * kMaxInFlight; ++i) {
    EXPECT_THROW(t.execute_gradient(), StateError);
    EXPECT_THROW(t.execute({}, a.net.labels), InvalidArgument);
    EXPECT_THROW(t.bind_and_write_data({{"no", view(a.net.x_data)}}),
                 InvalidArgument);
  }
  execute();
  t.synchronize();
}

TEST_F(InFlight, SlotsAreGivenBackAfterABurst) {
  execute();
  t.synchronize();
  execute();  // straight to the device: no input staging
  t.synchronize();
  Gate gate("a");
  for (int i = 0; i < kMaxInFlight; ++i) execute();
  const std::size_t burst = t.memory().staging_bytes;
  gate.open();
  t.synchronize();
  Device::null().synchronize();
  execute();
  EXPECT_LT(t.memory().staging_bytes, burst / 4);
  t.synchronize();  // before the gate goes
}

TEST_F(InFlight, ResultsThatAreHeldAreNotStaging) {
  std::vector<ExecutionResult> results;
  for (int i = 0; i < 10 * kMaxInFlight; ++i) {
    results.push_back(t.execute(a.net.inputs, a.net.labels).result());
  }
  EXPECT_EQ(results.front().loss(), 0);
  // A slot has a few hundred bytes of outputs and inputs.
  EXPECT_LT(t.memory().staging_bytes, 2u * kMaxInFlight * 512);
}

}  // namespace
}  // namespace traingraph
