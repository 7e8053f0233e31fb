// SPDX-License-Identifier: MIT
// Synchronous calls: who waits anyway does the work, when the queue is idle,
// and the order of calls remains the order of executions.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "runtime/device/queue_thread.h"
#include "runtime/null_device.h"

namespace traingraph {
namespace {

using namespace testing;

const ExecuteOptions kSynchronous{.synchronous = true};

TEST_F(NullDevice, ASynchronousCallRunsOnItsThread) {
  Named a("a");
  TrainingGraph t = a.train();
  std::atomic<std::thread::id> worker;
  set_null_hook([&](const std::string&, const std::string&) {
    worker = std::this_thread::get_id();
  });
  t.execute(a.net.inputs, a.net.labels, {}, kSynchronous);
  EXPECT_EQ(worker.load(), std::this_thread::get_id());
  t.execute(a.net.inputs, a.net.labels).wait();
  EXPECT_NE(worker.load(), std::this_thread::get_id());
}

TEST_F(NullDevice, ASynchronousCallWaitsBehindABusyQueue) {
  Named a("a"), b("b");
  TrainingGraph t = a.train(), other = b.train();
  Gate gate("a");
  const Execution first = t.execute(a.net.inputs, a.net.labels);
  gate.wait_until_reached();
  auto second = std::async(std::launch::async, [&] {
    other.execute(b.net.inputs, b.net.labels, {}, kSynchronous);
    return first.done();
  });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  gate.open();
  EXPECT_TRUE(second.get());
}

TEST_F(NullDevice, ACallDuringASynchronousOneIsNotForgotten) {
  Named a("a"), b("b");
  TrainingGraph t = a.train(), other = b.train();
  Gate gate("a");
  auto first = std::async(std::launch::async, [&] {
    t.execute(a.net.inputs, a.net.labels, {}, kSynchronous);
  });
  gate.wait_until_reached();  // on the caller's thread
  const Execution second = other.execute(b.net.inputs, b.net.labels);
  EXPECT_FALSE(second.wait_for(std::chrono::milliseconds(20)));
  gate.open();
  second.wait();
  first.get();
}

TEST_F(NullDevice, ASynchronousCallNeedsNoCompilationToEnd) {
  Named a("a");
  TrainingGraph t = a.train();
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) t.compile(Device::null());
  });
  for (int i = 0; i < 100; ++i) {
    t.execute(a.net.inputs, a.net.labels, {}, kSynchronous);
  }
  other.join();
}

TEST_F(NullDevice, AFailureOfASynchronousCallIsThrownAndForgotten) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("matmul", "a");
  EXPECT_THROW(t.execute(a.net.inputs, a.net.labels, {}, kSynchronous), Broken);
  set_null_hook(nullptr);
  EXPECT_NO_THROW(t.execute(a.net.inputs, a.net.labels, {}, kSynchronous));
}

TEST_F(NullDevice, SynchronousCallsOfManyThreadsKeepTheirOrder) {
  constexpr int kThreads = 6, kSteps = 200;
  std::atomic<int> num_running = 0, num_overlaps = 0;
  set_null_hook([&](const std::string&, const std::string&) {
    if (num_running.fetch_add(1) != 0) ++num_overlaps;
    num_running.fetch_sub(1);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      Named net(std::to_string(i));
      TrainingGraph t = net.train();
      for (int step = 0; step < kSteps; ++step) {
        const ExecuteOptions options{.synchronous = (step + i) % 3 != 0};
        t.execute(net.net.inputs, net.net.labels, {}, options);
      }
      t.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_overlaps, 0);
}

/// Says who ran it.
struct Bare final : Submission {
  std::exception_ptr blocked() noexcept override { return nullptr; }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr, double) noexcept override {
    thread.set_value(std::this_thread::get_id());
  }
  std::promise<std::thread::id> thread;
};

TEST(QueueThread, HelpEndsWithItsOwnSubmission) {
  QueueThread queue([](Submission& s) { s.finished(nullptr, 0); });
  Bare own, other, next;
  queue.submit(own, /*is_helped=*/true);
  queue.submit(other);
  queue.drain();  // the worker was faster
  queue.submit(next, /*is_helped=*/true);
  queue.help(own);
  EXPECT_NE(next.thread.get_future().get(), std::this_thread::get_id());
}

/// Losses of some steps; a sum over many elements depends on how it is divided.
Floats losses_of(const std::function<void(const std::function<void()>&)>& in) {
  Linear net(64, 300, 200);
  TrainingGraph t = net.train(sgd(0.1f), {}, Device::cpu());
  Floats losses;
  for (int step = 0; step < 5; ++step) {
    in([&] {
      const Execution run =
          t.execute(net.inputs, net.labels, {}, {.synchronous = true});
      losses.push_back(run.result().loss());
    });
  }
  return losses;
}

TEST(CallingThread, DoesNotChangeTheNumbers) {
  const Floats expected = losses_of([](const auto& step) { step(); });
  const Floats elsewhere =
      losses_of([](const auto& step) { std::thread(step).join(); });
  EXPECT_EQ(elsewhere, expected);
}

}  // namespace
}  // namespace traingraph
