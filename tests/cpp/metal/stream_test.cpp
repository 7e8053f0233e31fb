// SPDX-License-Identifier: MIT
// Many executions in flight: late and reordered completion, several threads,
// graphs and processes that end too early.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "metal/gpu_test.h"

namespace traingraph {
namespace {

using namespace testing;

class Stream : public GpuTest {
 protected:
  static void make_completions_late() {
    emulator::delay_completion(0.001);
    emulator::reorder_completions(3);
  }
};

TEST_F(Stream, LateAndReorderedCompletionsChangeNothing) {
  make_completions_late();
  for (int every : {0, 1}) {
    emulator::commit_and_continue_every(every);
    Twins twins;
    for (int i = 0; i < 10; ++i) {
      for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
        net->step();  // its result is dropped
        net->forward();
        net->t->execute_gradient();
        net->t->execute_optimizer_update();
      }
    }
    expect_near(twins.gpu.parameters(), twins.cpu.parameters(), 1e-4);
    expect_near(twins.gpu.infer(), twins.cpu.infer(), 1e-4);
  }
}

TEST_F(Stream, ResultsBelongToTheirExecutions) {
  Twins twins;
  std::vector<Execution> runs;
  std::vector<float> expected;
  make_completions_late();
  for (int i = 0; i < 20; ++i) {
    runs.push_back(twins.gpu.step());
    expected.push_back(twins.cpu.step().result().loss());
  }
  std::vector<float> losses;
  for (const Execution& run : runs) losses.push_back(run.result().loss());
  expect_near(losses, expected, 1e-4);
}

constexpr int kThreads = 4, kSteps = 15;

/// `work(i)` on thread i.
template <class Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Stream, GraphsOfSeveralThreadsShareTheQueue) {
  make_completions_late();
  SmallNet cpu(Device::cpu());
  cpu.compile();
  for (int i = 0; i < kSteps; ++i) cpu.step();
  const Floats expected = cpu.parameters();
  std::vector<Floats> trained(kThreads);
  in_threads([&](int i) {
    SmallNet gpu(Device::gpu());
    gpu.compile();
    for (int k = 0; k < kSteps; ++k) gpu.step();
    trained[i] = gpu.parameters();
  });
  for (const Floats& parameters : trained) {
    expect_near(parameters, expected, 1e-4);
  }
}

// Nobody promises that several graphs may be built at once.
TEST_F(Stream, ThreadsTakeTurnsAtBuildingGraphs) {
  emulator::delay_compile(0.002);
  in_threads([](int) { SmallNet(Device::gpu()).compile(); });
}

TEST_F(Stream, ThreadsTrainOneGraph) {
  make_completions_late();
  Twins twins;
  in_threads([&](int) {
    for (int k = 0; k < kSteps; ++k) twins.gpu.step();
  });
  for (int k = 0; k < kThreads * kSteps; ++k) twins.cpu.step();
  expect_near(twins.gpu.parameters(), twins.cpu.parameters(), 1e-4);
}

TEST_F(Stream, AFailureReachesOneExecutionOfMany) {
  make_completions_late();
  emulator::commit_and_continue_every(0);
  std::atomic<int> errors = 0;
  emulator::fail_command_buffer(/*code=*/1, kThreads * kSteps / 2);
  std::vector<std::unique_ptr<SmallNet>> nets(kThreads);
  in_threads([&](int i) {
    nets[i] = std::make_unique<SmallNet>(Device::gpu());
    nets[i]->compile();
    std::vector<Execution> runs;
    for (int k = 0; k < kSteps; ++k) runs.push_back(nets[i]->step());
    for (const Execution& run : runs) {
      try {
        run.wait();
      } catch (const DeviceError& error) {
        expect_names_layers(error);
        ++errors;
      }
    }
  });
  EXPECT_EQ(errors, 1);
  for (const auto& net : nets) {
    for (float value : net->parameters()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_F(Stream, GraphsMayGoWhileTheyWork) {
  make_completions_late();
  std::vector<Execution> runs;
  for (int i = 0; i < 3; ++i) {
    SmallNet gpu(Device::gpu());
    gpu.compile();
    for (int k = 0; k < 5; ++k) runs.push_back(gpu.step());
    if (i == 1) emulator::fail_command_buffer(/*code=*/1, 2);
  }
  int failures = 0;
  for (const Execution& run : runs) {
    try {
      EXPECT_TRUE(std::isfinite(run.result().loss()));
    } catch (const DeviceError&) {
      ++failures;
    }
  }
  EXPECT_EQ(failures, 1);
}

TEST_F(Stream, SynchronizeWaitsForHandlersThatAreLate) {
  Twins twins;
  twins.gpu.step().wait();
  emulator::delay_completion(0.02);
  const Execution run = twins.gpu.step();
  Device::gpu().synchronize();
  EXPECT_TRUE(run.done());
}

void leave_with_work_in_flight(bool destroys_the_graph) {
  emulator::delay_completion(0.001);
  emulator::reorder_completions(3);
  auto* gpu = new SmallNet(Device::gpu());
  gpu->compile();
  for (int i = 0; i < 20; ++i) gpu->step();
  if (destroys_the_graph) delete gpu;
  std::exit(0);
}

TEST(GpuExitDeathTest, WorkInFlightIsFinished) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (bool destroys_the_graph : {false, true}) {
    EXPECT_EXIT(leave_with_work_in_flight(destroys_the_graph),
                ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace traingraph
