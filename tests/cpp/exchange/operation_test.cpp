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

TEST(Operation, ASecondCallEndsNoLaterOne) {
  const auto operation = std::make_shared<Operation>();
  Collective::Done first, second;
  operation->begin(nullptr, [&](const Collective::Done& done) {
    first = done;
    done(nullptr);
  });
  EXPECT_TRUE(operation->wait([] { return false; }));
  operation->begin(nullptr,
                   [&](const Collective::Done& done) { second = done; });
  first(std::make_exception_ptr(DeviceError("of the one before")));
  EXPECT_FALSE(operation->wait([] { return true; }));
  second(nullptr);
  EXPECT_TRUE(operation->wait([] { return false; }));
}

TEST(Operation, MayBeGoneWhenTheTransportCallsAgain) {
  auto operation = std::make_shared<Operation>();
  Collective::Done late;
  operation->begin(nullptr, [&](const Collective::Done& done) {
    late = done;
    done(nullptr);
  });
  EXPECT_TRUE(operation->wait([] { return false; }));
  operation.reset();
  late(nullptr);
  // The next one may have its ticket.
  const auto next = std::make_shared<Operation>();
  Collective::Done own;
  next->begin(nullptr, [&](const Collective::Done& done) { own = done; });
  late(nullptr);
  EXPECT_FALSE(next->wait([] { return true; }));
  own(nullptr);
  EXPECT_TRUE(next->wait([] { return false; }));
}

}  // namespace
}  // namespace traingraph
