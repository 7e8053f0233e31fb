// SPDX-License-Identifier: MIT
// Cancelling while the queue is held: which executions end, in which order, and
// what counts afterwards.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/null_device.h"
#include "traingraph/interrupt.h"

namespace traingraph {
namespace {

using namespace testing;

using Cancelling = NullDevice;

TEST_F(Cancelling, DropsWhatWaitsAndNotWhatRuns) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a relu");
  const auto step = [&] { return t.execute(a.net.inputs, a.net.labels); };
  const Execution running = step();
  gate.wait_until_reached();
  const Execution first = step(), second = step(), third = step();
  EXPECT_FALSE(running.cancel());
  EXPECT_TRUE(second.cancel());
  EXPECT_TRUE(second.cancel());
  EXPECT_TRUE(second.cancelled());
  EXPECT_FALSE(second.done());  // not before its turn
  gate.open();
  EXPECT_NO_THROW(first.wait());
  EXPECT_EQ(error_of<CancelledError>([&] { second.wait(); }).op, "execute");
  EXPECT_NO_THROW(third.wait());
  EXPECT_FALSE(first.cancelled());
  EXPECT_EQ(t.optimizer()->time_step(), 4u);
  EXPECT_EQ(t.random_step(), 3u);
}

TEST_F(Cancelling, CountsFromWhatTheUserSetSince) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a relu");
  const auto step = [&] { return t.execute(a.net.inputs, a.net.labels); };
  step();
  gate.wait_until_reached();
  const Execution dropped = step();
  t.optimizer()->set_time_step(100);
  t.set_random_step(50);
  const Execution next = step();
  EXPECT_TRUE(dropped.cancel());
  gate.open();
  next.wait();
  EXPECT_EQ(t.optimizer()->time_step(), 101u);
  EXPECT_EQ(t.random_step(), 51u);
}

TEST_F(Cancelling, OfOthersWorkIsNoConcernOfAGraph) {
  Named a("a"), b("b");
  TrainingGraph ta = a.train(), tb = b.train();
  Gate gate("a relu");
  ta.execute(a.net.inputs, a.net.labels);
  gate.wait_until_reached();
  const Execution of_a = ta.execute(a.net.inputs, a.net.labels);
  const Execution of_b = tb.execute(b.net.inputs, b.net.labels);
  EXPECT_TRUE(of_a.cancel());
  gate.open();
  EXPECT_NO_THROW(of_b.wait());
  EXPECT_THROW(of_a.wait(), CancelledError);
}

struct Interrupt {};
std::atomic<bool> g_interrupts{false};

TEST_F(Cancelling, IsWhatAnInterruptedWaitDoes) {
  Named a("a"), b("b");
  TrainingGraph ta = a.train(), tb = b.train();
  const auto step = [&] { return ta.execute(a.net.inputs, a.net.labels); };
  const std::vector<std::function<void(const Execution&)>> waits{
      [](const Execution& run) { run.wait(); },
      [](const Execution& run) { run.result(); },
      [](const Execution& run) { run.wait_for(std::chrono::hours(1)); },
      [&](const Execution&) { ta.synchronize(); },
      [&](const Execution&) {
        ta.execute(a.net.inputs, a.net.labels, {}, {.synchronous = true});
      }};
  for (const auto& wait : waits) {
    Gate gate("a relu");
    const Execution running = step();
    gate.wait_until_reached();
    const Execution waiting = step();
    const Execution other = tb.execute(b.net.inputs, b.net.labels);
    set_interrupt_check([] {
      if (g_interrupts.exchange(false)) throw Interrupt();
    });
    g_interrupts = true;
    EXPECT_THROW(wait(waiting), Interrupt);
    set_interrupt_check(nullptr);
    const Execution after = step();
    gate.open();
    EXPECT_NO_THROW(running.wait());
    EXPECT_THROW(waiting.wait(), CancelledError);
    EXPECT_TRUE(waiting.cancelled());
    EXPECT_NO_THROW(other.wait());
    EXPECT_NO_THROW(after.wait());
  }
}

TEST_F(Cancelling, OfAllThatAHostLanguageHasEnqueued) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a relu");
  const auto step = [&] { return t.execute(a.net.inputs, a.net.labels); };
  step();
  gate.wait_until_reached();
  const Execution own = step();
  std::optional<Execution> of_language;
  {
    const CancelScope scope;
    of_language = step();
  }
  CancelScope::cancel_waiting();
  std::optional<Execution> later;
  {
    const CancelScope scope;
    later = step();
  }
  gate.open();
  EXPECT_NO_THROW(own.wait());
  EXPECT_THROW(of_language->wait(), CancelledError);
  EXPECT_NO_THROW(later->wait());
}

TEST_F(Cancelling, OfAFailedOnesDependentsChangesNothing) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("activation_gradient", "a relu");
  t.execute_forward(a.net.inputs, a.net.labels);
  t.execute_gradient();
  const Execution update = t.execute_optimizer_update();
  EXPECT_THROW(update.wait(), Broken);
  EXPECT_FALSE(update.cancel());
  EXPECT_FALSE(update.cancelled());
}

}  // namespace
}  // namespace traingraph
