// SPDX-License-Identifier: MIT
// Nothing of a graph outlives it, and nothing grows while it trains.
#include <gtest/gtest.h>

#include <map>

#include "metal/gpu_test.h"

namespace traingraph {
namespace {

using namespace testing;

class Leaks : public GpuTest {
 protected:
  /// The device and its queue stay; a first graph makes them.
  Leaks() {
    SmallNet net(Device::gpu());
    net.compile();
    net.step();
  }
  static void finish() {
    Device::gpu().synchronize();
    emulator::wait_until_idle();
  }
  /// `work` leaves the objects and bytes that were there before.
  template <class Work>
  static void expect_nothing_stays_of(Work work) {
    finish();
    const auto objects = emulator::live_objects();
    const std::size_t bytes = emulator::allocated_bytes();
    work();
    finish();
    EXPECT_EQ(emulator::live_objects(), objects);
    EXPECT_EQ(emulator::allocated_bytes(), bytes);
  }
};

TEST_F(Leaks, OnlyTheDeviceStays) {
  finish();
  std::map<std::string, long> buffers;
  for (const auto& [name, count] : emulator::live_objects()) {
    for (const char* kind : {"Buffer", "Heap", "Graph", "Encoder", "Data"}) {
      if (name.find(kind) != std::string::npos) buffers[name] = count;
    }
  }
  const std::map<std::string, long> expected{{"MPSGraphDevice", 1}};
  EXPECT_EQ(buffers, expected);
  EXPECT_EQ(emulator::allocated_bytes(), 0u);
}

TEST_F(Leaks, AThousandSteps) {
  expect_nothing_stays_of([] {
    SmallNet net(Device::gpu());
    net.compile();
    const auto train = [&](int steps) {
      for (int i = 0; i < steps; ++i) {
        const std::int64_t batch = i % 3 == 0 ? 8 : i % 3;
        net.step({.batch_size = batch});
        Device::gpu().synchronize();  // staging buffers are free again
        if (i % 10 == 0) net.infer();
        Device::gpu().synchronize();
        if (i % 4 != 0) continue;
        net.forward();
        Device::gpu().synchronize();
        net.t->execute_gradient();
        Device::gpu().synchronize();
        net.t->execute_optimizer_update();
        Device::gpu().synchronize();
      }
      finish();
    };
    train(20);  // every batch size and plan was there
    const auto objects = emulator::live_objects();
    const std::size_t bytes = emulator::allocated_bytes();
    for (int i = 0; i < 10; ++i) {
      train(100);
      EXPECT_EQ(emulator::live_objects(), objects);
      EXPECT_EQ(emulator::allocated_bytes(), bytes);
    }
  });
}

TEST_F(Leaks, MemoryIsBoundedByWhatIsInFlight) {
  expect_nothing_stays_of([] {
    SmallNet net(Device::gpu());
    net.compile();
    const auto train = [&] {
      for (int i = 0; i < 300; ++i) net.step();
      finish();
      return emulator::allocated_bytes();
    };
    const std::size_t bytes = train();
    for (int i = 0; i < 2; ++i) EXPECT_LE(train(), 2 * bytes);
  });
}

TEST_F(Leaks, GraphsThatNeverRan) {
  expect_nothing_stays_of([] {
    for (int i = 0; i < 3; ++i) {
      SmallNet net(Device::gpu());
      net.compile();
      net.compile();
    }
  });
}

TEST_F(Leaks, GraphsThatGoWithWorkInFlight) {
  expect_nothing_stays_of([] {
    emulator::delay_completion(0.001);
    for (int i = 0; i < 5; ++i) {
      SmallNet net(Device::gpu());
      net.compile();
      for (int k = 0; k < 10; ++k) net.step();
    }
  });
}

/// Does all there is to do; whatever fails is left as it is.
void try_all() {
  SmallNet net(Device::gpu());
  const auto attempt = [](auto call) {
    try {
      call();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): see above
    }
  };
  attempt([&] { net.compile(); });
  if (!net.t->is_compiled()) return;
  for (int i = 0; i < 3; ++i) attempt([&] { net.step(); });
  attempt([&] { net.phases(); });
  attempt([&] { net.step({.batch_size = 4}).wait(); });
  attempt([&] { net.infer(); });
  attempt([&] { net.parameters(); });
}

TEST_F(Leaks, Failures) {
  for (int every : {0, 1}) {
    for (int n = 0; n < 30; ++n) {
      expect_nothing_stays_of([&] {
        emulator::reset_faults();
        emulator::commit_and_continue_every(every);
        emulator::fail_command_buffer(/*code=*/1, n);
        emulator::raise_in_encode(n);
        emulator::fail_allocation(3 * n);
        emulator::fail_compile(n);
        emulator::raise_in_operation("addition", 5 * n);
        try_all();
      });
    }
  }
}

}  // namespace
}  // namespace traingraph
