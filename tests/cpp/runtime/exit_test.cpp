// SPDX-License-Identifier: MIT
// Processes that end with queued work: each finishes it and exits with 0.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "runtime/null_device.h"

namespace traingraph {
namespace {

using namespace testing;

void report_what_ran_at_exit() {
  static std::atomic<int> updates = 0;
  std::atexit([] { std::fprintf(stderr, "updates: %d\n", updates.load()); });
  Named a("a");
  TrainingGraph t = a.train();
  set_null_hook([](const std::string& op, const std::string&) {
    if (op == "sgd_update") ++updates;
  });
  for (int i = 0; i < 100; ++i) t.execute(a.net.inputs, a.net.labels);
  std::exit(0);
}

void leave_with_queued_work(bool destroys_the_graph) {
  auto* net = new Linear(64, 256, 256);
  auto* t = new TrainingGraph(net->train(sgd(0.1f)));
  static std::atomic<int> handled = 0;
  const auto count = [](const Execution&) { ++handled; };
  for (int i = 0; i < 100; ++i) {
    t->execute(net->inputs, net->labels, {}, {.completion_handler = count});
  }
  if (destroys_the_graph) {
    delete t;
    delete net;
  }
  std::exit(0);
}

/// Handlers that execute again never come to an end by themselves.
void leave_with_a_chain_of_handlers() {
  struct Chain {
    Linear net{64, 128, 128};
    TrainingGraph t = net.train(sgd(0.1f));
    ExecuteOptions options;
    void step() {
      try {
        t.execute(net.inputs, net.labels, {}, options);
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the exit's
      }
    }
  };
  auto* chain = new Chain;
  chain->options.completion_handler = [chain](const Execution&) {
    chain->step();
  };
  for (int i = 0; i < 3; ++i) chain->step();
  std::exit(0);
}

class ExitDeathTest : public ::testing::Test {
 protected:
  ExitDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ExitDeathTest, TheQueueIsDrained) {
  // Two parameters, a hundred steps.
  EXPECT_EXIT(report_what_ran_at_exit(), ::testing::ExitedWithCode(0),
              "updates: 200");
}

TEST_F(ExitDeathTest, TheGraphIsStillThere) {
  EXPECT_EXIT(leave_with_queued_work(/*destroys_the_graph=*/false),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(ExitDeathTest, TheGraphIsGone) {
  EXPECT_EXIT(leave_with_queued_work(/*destroys_the_graph=*/true),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(ExitDeathTest, HandlersKeepExecuting) {
  for (int i = 0; i < 5; ++i) {  // where it meets the exit is a matter of luck
    EXPECT_EXIT(leave_with_a_chain_of_handlers(), ::testing::ExitedWithCode(0),
                "");
  }
}

}  // namespace
}  // namespace traingraph
