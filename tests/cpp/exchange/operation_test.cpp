// SPDX-License-Identifier: MIT
#include "runtime/exchange/operation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace traingraph {
namespace {

TEST(Operation, HasLetGoOfItsMemoryWhenItIsOver) {
  std::atomic<bool> is_free = false;
  int value = 0;
  std::shared_ptr<const void> memory(&value, [&](const void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_free = true;
  });
  const auto operation = std::make_shared<Operation>();
  std::thread transport;
  operation->begin(std::move(memory), [&](const Collective::Done& done) {
    transport = std::thread([done] { done(nullptr); });
  });
  EXPECT_TRUE(operation->wait([] { return false; }));
  EXPECT_TRUE(is_free);
  transport.join();
}

TEST(Operation, EndsOnce) {
  const auto operation = std::make_shared<Operation>();
  operation->begin(nullptr, [](const Collective::Done& done) {
    done(nullptr);
    done(std::make_exception_ptr(DeviceError("too late")));
  });
  EXPECT_TRUE(operation->wait([] { return false; }));
  EXPECT_EQ(operation.use_count(), 1);
}

}  // namespace
}  // namespace traingraph
