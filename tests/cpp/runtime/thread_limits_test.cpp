// SPDX-License-Identifier: MIT
// Threads that cannot be started, because of a limit on processes or memory:
// a typed error that names the thread, and everything works once they can.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "runtime/device/queue_thread.h"
#include "support/training.h"

namespace {

std::atomic<int> g_allowed_threads = -1;  // -1: all

}  // namespace

/// Stands before the C library's: std::thread calls it.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = decltype(&pthread_create);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (g_allowed_threads == 0) return EAGAIN;
  if (g_allowed_threads > 0) --g_allowed_threads;
  return create(thread, attributes, start, argument);
}

namespace traingraph {
namespace {

using namespace testing;

template <class Action>
std::string device_error(Action action) {
  try {
    action();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool names(const std::string& message, const char* thread) {
  return message.find(std::string("the thread for ") + thread +
                      " cannot be started") != std::string::npos;
}

TEST(ThreadLimits, OfAQueue) {
  g_allowed_threads = 0;
  const std::string message =
      device_error([] { QueueThread([](Submission&) {}); });
  g_allowed_threads = -1;
  EXPECT_TRUE(names(message, "a device's work")) << message;
  QueueThread([](Submission&) {}).drain();
}

/// Each test runs in a process of its own under CTest: where that has made its
/// device before, there are fewer threads to fail.
TEST(ThreadLimits, AtEveryThreadOfATraining) {
  Linear net(4, 3, 2);
  int num_failures = 0;
  for (int allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 64);
    g_allowed_threads = allowed;
    const std::string message = device_error([&] {
      TrainingGraph t = net.train(sgd(0.1f));
      std::atomic<bool> is_called = false;
      t.execute(net.inputs, net.labels, {},
                {.completion_handler =
                     [&](const Execution&) {
                       is_called = true;
                       is_called.notify_all();
                     }})
          .wait();
      is_called.wait(false);
    });
    g_allowed_threads = -1;
    if (message == "nothing was thrown") break;
    ++num_failures;
    EXPECT_NE(message.find("cannot be started"), std::string::npos) << message;
  }
  // The callbacks' at least, unless another test has started it.
  RecordProperty("failures", num_failures);
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute(net.inputs, net.labels).wait();
}

}  // namespace
}  // namespace traingraph
