// SPDX-License-Identifier: MIT
// What is the caller's, callbacks and the owners of output buffers, never holds
// up a device; and what happens where no thread can be started for it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "runtime/null_device.h"
#include "traingraph/interrupt.h"

#if defined(__GLIBC__)
#include <pthread.h>
#endif

namespace traingraph {
namespace {

using namespace testing;

class Owners : public NullDevice {
 protected:
  /// Memory for y; `release` is called when nobody needs it any more.
  template <class Release>
  std::vector<NamedData> owned(Release release) {
    TensorData data = view(y);
    data.owner = {y.data(), [release](void*) { release(); }};
    return {{"y", data}};
  }
  Execution execute(const std::vector<NamedData>& outputs,
                    bool is_synchronous = false) {
    return t.execute(a.net.inputs, a.net.labels, {},
                     {.synchronous = is_synchronous, .outputs_data = outputs});
  }

  Named a{"a"};
  TrainingGraph t = a.train();
  Floats y = Floats(8, 1.0f);
};

TEST_F(Owners, AreReleasedWhenTheWorkIsOver) {
  std::promise<void> may_release;
  std::promise<std::thread::id> released;
  Gate gate("a");
  const Execution run = execute(owned([&] {
    may_release.get_future().wait();
    Device::null().synchronize();
    released.set_value(std::this_thread::get_id());
  }));
  gate.open();
  EXPECT_TRUE(run.wait_for(std::chrono::seconds(5)));
  EXPECT_EQ(y, Floats(8, 0.0f));
  may_release.set_value();
  EXPECT_NE(released.get_future().get(), std::this_thread::get_id());
}

TEST_F(Owners, OfASynchronousCallAreReleasedByIt) {
  const auto outputs = owned([] {});
  execute(outputs, /*is_synchronous=*/true);
  EXPECT_EQ(outputs[0].data.owner.use_count(), 1);
}

TEST_F(Owners, OfAnInterruptedCallStay) {
  std::promise<void> released;
  Gate gate("a");
  const Execution first = execute({});
  gate.wait_until_reached();
  set_interrupt_check([] { throw Broken("interrupted"); });
  {
    const auto outputs = owned([&] { released.set_value(); });
    EXPECT_THROW(execute(outputs, /*is_synchronous=*/true), Broken);
    EXPECT_GT(outputs[0].data.owner.use_count(), 1);
  }
  set_interrupt_check(nullptr);
  gate.open();
  released.get_future().wait();
  EXPECT_EQ(y, Floats(8, 1.0f));  // it had not begun, so it was dropped
}

#if defined(__GLIBC__)

/// From here on no thread can be started: there is no room for its stack.
void exhaust_threads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 47);
  pthread_setattr_default_np(&attributes);
}

void add_a_handler_without_threads() {
  Named a("a");
  TrainingGraph t = a.train();
  exhaust_threads();
  const ExecuteOptions options{.completion_handler = [](const Execution&) {}};
  try {
    t.execute(a.net.inputs, a.net.labels, {}, options);
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  t.execute(a.net.inputs, a.net.labels).wait();
  std::exit(0);
}

void verify_without_threads() {
  Named a("a");
  const Device device = Device::null();
  exhaust_threads();
  try {
    a.net.train(sgd(0.1f), {.verify = device}, device);
  } catch (const std::exception&) {
    std::fprintf(stderr, "refused\n");
  }
  device.synchronize();
  std::exit(0);
}

class NoThreadsDeathTest : public ::testing::Test {
 protected:
  NoThreadsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(NoThreadsDeathTest, AHandlerIsRefused) {
  EXPECT_EXIT(add_a_handler_without_threads(), ::testing::ExitedWithCode(0),
              "thread");
}

TEST_F(NoThreadsDeathTest, ADeviceThatCannotBeVerifiedWorks) {
  EXPECT_EXIT(verify_without_threads(), ::testing::ExitedWithCode(0),
              "refused");
}

#endif

}  // namespace
}  // namespace traingraph
