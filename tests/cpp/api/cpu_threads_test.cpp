// SPDX-License-Identifier: MIT
// CPU devices with threads of their own, and the number of the default one's.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

Floats trained_on(const Device& device, int steps = 3) {
  Linear net(64, 300, 200);
  TrainingGraph t = net.train(sgd(0.1f), {}, device);
  for (int i = 0; i < steps; ++i) t.execute(net.inputs, net.labels);
  return read(net.w());
}

TEST(CpuThreads, AreWhatWasAskedFor) {
  EXPECT_NE(Device::cpu(1).name().find(", 1 thread)"), std::string::npos);
  EXPECT_NE(Device::cpu(3).name().find(", 3 threads)"), std::string::npos);
  EXPECT_EQ(Device::cpu(3).type(), DeviceType::CPU);
  EXPECT_EQ(Device::cpu(3).actual_device_type(), DeviceType::CPU);
}

TEST(CpuThreads, DevicesAreTheirOwn) {
  const Device a = Device::cpu(1), b = Device::cpu(1);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, Device(a));
  EXPECT_NE(a, Device::cpu());
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), {}, a);
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(net.w().device(), a);
  InferenceGraph other({net.graph});
  other.add_inputs({{"x", net.x}});
  EXPECT_THROW(other.compile(b), StateError);
}

TEST(CpuThreads, RunsRepeatForANumber) {
  for (int threads : {1, 2, 3}) {
    EXPECT_EQ(trained_on(Device::cpu(threads)),
              trained_on(Device::cpu(threads)))
        << threads;
  }
}

TEST(CpuThreads, OutOfRangeIsRefused) {
  for (int threads : {0, -1, 1025}) {
    const ErrorInfo info =
        error_of<InvalidArgument>([&] { Device::cpu(threads); });
    EXPECT_EQ(info.got, std::to_string(threads));
    EXPECT_THROW(set_num_threads(threads), InvalidArgument);
  }
}

TEST(CpuThreads, TheDefaultCanBeChanged) {
  const int before = num_threads();
  const Device cpu = Device::cpu();
  set_num_threads(before + 1);
  EXPECT_EQ(num_threads(), before + 1);
  const Device other = Device::cpu();
  EXPECT_NE(other, cpu);
  EXPECT_EQ(other, Device::cpu());
  EXPECT_NE(other.name().find(std::to_string(before + 1) + " threads"),
            std::string::npos);
  set_num_threads(before);
  EXPECT_EQ(Device::cpu(), cpu);
}

#if defined(__linux__)
int threads_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

TEST(CpuThreads, EndWithTheLastHandle) {
  trained_on(Device::cpu(2));  // threads that stay: callbacks
  Device::synchronize_all();
  // The callback thread joins them, after what it has to do before.
  const auto settles_at_most = [](int expected) {
    for (int i = 0; i < 10000 && threads_of_process() > expected; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return threads_of_process() <= expected;
  };
  const int before = threads_of_process();
  for (int i = 0; i < 5; ++i) trained_on(Device::cpu(4));
  EXPECT_TRUE(settles_at_most(before));
}
#endif

TEST(CpuThreads, ADeviceMayEndOnItsOwnThread) {
  Linear net;
  for (int i = 0; i < 20; ++i) {
    auto t = std::make_unique<TrainingGraph>(
        net.train(sgd(0.1f), {}, Device::cpu(2)));
    const Execution run = t->execute(net.inputs, net.labels);
    t.reset();  // the work in flight is the last to hold the device
    run.wait();
  }
}

TEST(CpuThreads, TwoDevicesWorkAtTheSameTime) {
  std::vector<Floats> results(2);
  std::vector<std::thread> threads;
  for (Floats& result : results) {
    threads.emplace_back(
        [&] { result = trained_on(Device::cpu(2), /*steps=*/50); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], trained_on(Device::cpu(2), 50));
  EXPECT_EQ(results[1], results[0]);
}

}  // namespace
}  // namespace traingraph
