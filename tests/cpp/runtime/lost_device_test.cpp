// SPDX-License-Identifier: MIT
// A device that is lost: what is under way and every call that needs it ends
// with DeviceLostError at once; what the host has stays.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "c/status.h"
#include "runtime/token_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

class LostDevice : public ::testing::Test {
 protected:
  LostDevice() { token.warm_up(); }
  ~LostDevice() override { std::filesystem::remove_all(folder); }

  OnToken token{adam(), {.link_graphs = true}};
  TrainingGraph& t = token.t;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("lost_device." + std::to_string(::getpid()));
};

TEST_F(LostDevice, EndsAllThatIsInFlight) {
  token.device->hold_work(true);
  std::vector<Execution> runs{token.step(), token.forward(),
                              t.execute_gradient(),
                              t.execute_optimizer_update()};
  token.wait_until_begun(4);
  token.device->hold_begins(true);
  runs.push_back(token.step());
  std::atomic<int> num_called = 0;
  for (const Execution& run : runs) {
    run.add_done_callback([&](const Execution&) { ++num_called; });
  }
  token.device->lose();
  for (const Execution& run : runs) {
    const ErrorInfo error = error_of<DeviceLostError>([&] { run.result(); });
    EXPECT_EQ(error.op, "execute");
    EXPECT_EQ(error.node, "token");
    EXPECT_EQ(error.hint, "Start a new process and load a checkpoint.");
  }
  while (num_called < static_cast<int>(runs.size())) std::this_thread::yield();
}

TEST_F(LostDevice, RefusesEveryCall) {
  token.forward();
  t.execute_gradient().wait();
  std::filesystem::create_directory(folder);
  t.save(folder / "before");
  Linear other(4, 3, 2, 9, "other");
  TrainingGraph linked =
      other.train(sgd(0.1f), {.link_graphs = true}, Device(token.device));
  token.device->lose();

  const Linear& net = token.net;
  const Device device(token.device);
  Floats values(6);
  const ExecuteOptions inference{.forward_for_inference = true};
  struct Case {
    const char* op;
    std::function<void()> call;
  };
  const std::vector<Case> cases{
      {"execute", [&] { token.step(); }},
      {"execute",
       [&] { t.execute(net.inputs, net.labels, {}, {.synchronous = true}); }},
      {"execute", [&] { t.execute(net.inputs, {}, {}, inference); }},
      {"execute_forward", [&] { token.forward(); }},
      {"execute_gradient", [&] { t.execute_gradient(); }},
      {"execute_optimizer_update", [&] { t.execute_optimizer_update(); }},
      {"synchronize_updates", [&] { t.synchronize_updates(); }},
      {"synchronize", [&] { t.synchronize(); }},
      {"synchronize", [&] { device.synchronize(); }},
      {"gradient", [&] { t.gradient_data(net.w()); }},
      {"gradient", [&] { t.gradient_view(net.w()); }},
      {"gradient", [&] { t.set_gradient_data(net.w(), values); }},
      {"bind_and_write_data", [&] { t.bind_and_write_data(net.inputs); }},
      {"compile_optimizer", [&] { t.compile_optimizer(sgd(0.1f)); }},
      {"link", [&] { t.link({linked}); }},
      {"compile", [&] { Linear().train(sgd(0.1f), {}, device); }},
      {"save", [&] { t.save(folder / "after"); }},
      {"restore", [&] { t.restore(folder / "before"); }},
      {"export_graph", [&] { t.export_graph(folder / "graph"); }},
      {"synchronize_data", [&] { read(net.w()); }},
      {"synchronize_data", [&] { read(net.y); }},
      {"synchronize_data", [&] { host(net.w()); }},
      {"synchronize_data", [&] { net.w().optimizer_data(); }},
      {"set_data", [&] { net.w().set_data(view(values)); }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.op);
    const ErrorInfo error = error_of<DeviceLostError>(each.call);
    EXPECT_EQ(error.op, each.op);
    EXPECT_EQ(error.hint, "Start a new process and load a checkpoint.");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "after"));
  EXPECT_THROW(token.device->allocate(8, "more"), DeviceLostError);
  EXPECT_THROW(token.step(), DeviceError);  // it is one
}

TEST_F(LostDevice, LeavesWhatTheHostHas) {
  const ExecutionResult result = token.step().result();
  const Floats before = floats_of(result.output("y"));
  const float loss = result.loss();
  token.device->lose();
  EXPECT_EQ(floats_of(result.output("y")), before);
  EXPECT_EQ(result.loss(), loss);
  EXPECT_EQ(t.optimizer()->time_step(), 4u);
  EXPECT_EQ(t.batch_size(), 4);
  EXPECT_GT(t.memory().step.arena_bytes, 0u);
  EXPECT_NE(token.device->description(), "");
}

TEST_F(LostDevice, LeavesCheckpointsToGoOnFrom) {
  std::filesystem::create_directory(folder);
  t.save(folder / "before");
  const Floats w = host(token.net.w());
  token.device->lose();
  OnCpu cpu(adam());
  cpu.t.restore(folder / "before");
  EXPECT_EQ(host(cpu.net.w()), w);
  EXPECT_NO_THROW(cpu.step());
}

TEST_F(LostDevice, LetsThreadsGo) {
  std::vector<std::thread> threads;
  std::atomic<int> num_steps = 0, num_lost = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      try {
        while (true) {
          const Execution run = token.step();
          if (i == 0) run.wait();
          if (i == 1) read(token.net.w());
          ++num_steps;  // the others wait for room
        }
      } catch (const DeviceLostError&) {
        ++num_lost;
      }
    });
  }
  while (num_steps < 200) std::this_thread::yield();
  token.device->lose();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_lost, 4);
}

TEST_F(LostDevice, EndsAWaitForRoom) {
  token.device->hold_work(true);
  std::thread caller(
      [&] { EXPECT_THROW(while (true) token.step(), DeviceLostError); });
  token.wait_until_begun(64);
  token.device->lose();
  caller.join();
}

TEST_F(LostDevice, IsLetGo) {
  token.device->hold_work(true);
  {
    Linear other(4, 3, 2, 9, "other");
    token.device->hold_work(false);
    TrainingGraph graph = other.train(sgd(0.1f), {}, Device(token.device));
    graph.execute(other.inputs, other.labels).wait();
    token.device->hold_work(true);
    graph.execute(other.inputs, other.labels);
    token.device->lose();
  }
  token.device->drain();
  EXPECT_NO_THROW(token.device->close());
  EXPECT_THROW(token.step(), DeviceLostError);
}

TEST(DeviceLostError, HasAStatus) {
  const auto failure = c::failure_of(
      std::make_exception_ptr(DeviceLostError(ErrorInfo{.what = "lost"})));
  EXPECT_EQ(failure.status, TG_DEVICE_LOST);
  EXPECT_EQ(
      c::failure_of(std::make_exception_ptr(DeviceError(ErrorInfo{}))).status,
      TG_DEVICE_ERROR);
}

}  // namespace
}  // namespace traingraph
