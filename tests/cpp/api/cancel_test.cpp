// SPDX-License-Identifier: MIT
// Executions that are cancelled: what has not begun leaves no trace.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

/// Whether what was just begun can still be cancelled is chance: an empty
/// device may have run it. Who tries again tries until then.
Clock::time_point in_a_while() {
  return Clock::now() + std::chrono::seconds(20);
}

/// A network whose every step differs: dropout, momentum, Adam's correction.
struct Net {
  explicit Net(OptimizerPtr optimizer) {
    net.graph.node(std::make_shared<layers::Dropout>(0.25f, 7), net.y);
    t.emplace(std::vector{net.graph},
              std::make_shared<losses::MeanSquaredError>(),
              std::move(optimizer));
    t->add_inputs({{"x", net.x}}, {{"label", net.label}});
    t->compile(test_device(), {.accumulate_gradients = true});
  }
  Execution call(int kind) {
    switch (kind) {
      case 0:
        return t->execute_forward(net.inputs, net.labels);
      case 1:
        return t->execute_gradient();
      case 2:
        return t->execute_optimizer_update();
      case 3:
        return t->execute(net.inputs, net.labels, {},
                          {.forward_for_inference = true});
      default:
        return t->execute(net.inputs, net.labels);
    }
  }
  Linear net{64, 96, 80};
  std::optional<TrainingGraph> t;
};

OptimizerPtr adam() {
  auto optimizer = std::make_shared<optimizers::Adam>(0.05f);
  optimizer->set_schedule(Schedule::linear(0.05f, 0.01f, 30));
  return optimizer;
}

struct Outcome {
  Floats w, b;
  std::uint64_t time_step, random_step;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Net& net) {
  net.t->synchronize();
  return {read(net.net.w()), read(net.net.b()), net.t->optimizer()->time_step(),
          net.t->random_step()};
}

TEST(Cancel, LeavesWhatIsOver) {
  Net net(adam());
  const Execution run = net.call(4);
  run.wait();
  EXPECT_FALSE(run.cancel());
  EXPECT_FALSE(run.cancelled());
  EXPECT_EQ(run.exception(), nullptr);
}

// Steps of random kinds, cancelled by other threads at random: what was not
// dropped does what it does in a run of that alone, bit by bit.
TEST(Cancel, LeavesNoTraceOfWhatIsDropped) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int num_dropped = 0;
  for (int round = 0; round < 6; ++round) {
    Net net(round % 2 ? adam() : sgd(0.1f, 0.9f));
    std::vector<std::pair<int, Execution>> runs;
    std::atomic<int> num_callbacks = 0;
    std::vector<std::thread> threads;
    for (int group = 0; group < 6; ++group) {
      std::vector<Execution> batch;
      for (int i = 0; i < 8; ++i) {
        const int kind = static_cast<int>(random() % 3);
        // Whole steps, inference, or three phases.
        const std::vector<int> kinds =
            kind == 0 ? std::vector{0, 1, 2} : std::vector{kind + 2};
        for (const int each : kinds) {
          const Execution run = net.call(each);
          run.add_done_callback([&](const Execution&) { ++num_callbacks; });
          runs.emplace_back(each, run);
          batch.push_back(run);
        }
      }
      threads.emplace_back([batch, chosen = random()] {
        std::mt19937 of_thread(chosen);
        for (int i = 0; i < 4; ++i) {
          const Execution& run = batch[of_thread() % batch.size()];
          const bool is_dropped = run.cancel();
          EXPECT_EQ(run.cancelled(), is_dropped);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Outcome got = outcome_of(net);

    Net replay(round % 2 ? adam() : sgd(0.1f, 0.9f));
    for (const auto& [kind, run] : runs) {
      EXPECT_TRUE(run.done());
      if (!run.cancelled()) {
        EXPECT_EQ(run.exception(), nullptr);
        replay.call(kind).wait();
        continue;
      }
      ++num_dropped;
      error_of<CancelledError>([&] { run.wait(); });
      error_of<CancelledError>([&] { run.result(); });
      EXPECT_TRUE(run.cancel());
    }
    EXPECT_EQ(outcome_of(replay), got);
    // Callbacks come one after the other, on one thread.
    while (num_callbacks < static_cast<int>(runs.size())) {
      std::this_thread::yield();
    }
    EXPECT_EQ(num_callbacks, static_cast<int>(runs.size()));
  }
  RecordProperty("dropped", num_dropped);
}

TEST(Cancel, TakesTheFollowingPhasesAlong) {
  for (const auto end = in_a_while(); Clock::now() < end;) {
    Net net(adam());
    for (int i = 0; i < 20; ++i) net.call(4);  // keeps the device busy
    const Execution forward = net.call(0), gradient = net.call(1),
                    update = net.call(2), after = net.call(4);
    const bool is_dropped = forward.cancel();
    EXPECT_NO_THROW(after.wait());
    if (!is_dropped) continue;
    for (const Execution& run : {forward, gradient, update}) {
      const ErrorInfo error = error_of<CancelledError>([&] { run.wait(); });
      EXPECT_EQ(error.op, "execute_forward");
      EXPECT_TRUE(run.cancelled());
    }
    EXPECT_EQ(net.t->optimizer()->time_step(), 22u);
    EXPECT_EQ(net.t->random_step(), 21u);
    return;
  }
  FAIL() << "nothing was ever cancelled in time";
}

TEST(Cancel, OfAPassFailsWhatAddsToIt) {
  for (const auto end = in_a_while(); Clock::now() < end;) {
    Net net(sgd(0.1f));
    const ExecuteOptions adds{.accumulate = GradientAccumulation::Mean};
    net.call(0);
    net.t->execute_gradient(adds);
    net.call(0).wait();
    for (int i = 0; i < 20; ++i) net.call(3);
    net.call(0);
    const Execution pass = net.t->execute_gradient(adds);
    const bool is_dropped = pass.cancel();
    net.call(0);
    const Execution next = net.t->execute_gradient(adds), update = net.call(2);
    net.t->synchronize();
    if (!is_dropped) continue;
    for (const Execution& run : {pass, next, update}) {
      error_of<CancelledError>([&] { run.wait(); });
    }
    EXPECT_EQ(net.t->optimizer()->time_step(), 1u);
    // The update has ended it.
    net.call(0);
    EXPECT_NO_THROW(net.t->execute_gradient(adds).wait());
    EXPECT_NO_THROW(net.call(2).wait());
    return;
  }
  FAIL() << "nothing was ever cancelled in time";
}

}  // namespace
}  // namespace traingraph
