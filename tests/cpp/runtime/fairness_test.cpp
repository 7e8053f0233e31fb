// SPDX-License-Identifier: MIT
// Nobody waits for as long as another thread keeps submitting.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fair_mutex.h"
#include "runtime/null_device.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(FairMutex, GoesToWhoCameFirst) {
  FairMutex mutex;
  std::vector<int> order;
  mutex.lock();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::scoped_lock lock(mutex);
      order.push_back(i);
    });
    // One more waits: it comes before the next.
    while (mutex.num_users() < static_cast<unsigned>(i) + 2) {
      std::this_thread::yield();
    }
  }
  mutex.unlock();
  mutex.lock();  // at once, and yet behind all who waited
  order.push_back(4);
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

class Fairness : public NullDevice {
 protected:
  /// Submits without a pause until the test is over.
  void keep_submitting() {
    thread_ = std::thread([this] {
      while (!is_over_) {
        t.execute(a.net.inputs, a.net.labels);
        ++num_calls_;
      }
    });
    while (num_calls_ < 100) std::this_thread::yield();
  }
  ~Fairness() override {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  Named a{"a"};
  TrainingGraph t = a.train();

 private:
  std::atomic<bool> is_over_ = false;
  std::atomic<int> num_calls_ = 0;
  std::thread thread_;
};

// Each of these returned only after the other thread had ended, which here it
// does not.
TEST_F(Fairness, CallsGetInWhileAnotherThreadSubmits) {
  keep_submitting();
  for (int i = 0; i < 20; ++i) {
    t.synchronize();
    t.memory();
    t.plan_description();
    t.summarized_dot_description();
    t.synchronize_updates();
    t.compile_optimizer(sgd(0.1f));
    t.bind_and_write_data(a.net.inputs, {}, 0, /*synchronous=*/true);
    t.compile(Device::null());
  }
  EXPECT_TRUE(t.is_compiled());
}

}  // namespace
}  // namespace traingraph
