// SPDX-License-Identifier: MIT
// A device that fails as one: what is enqueued begins before what it depends on
// is over, and what is cancelled or fails ends what depends on it all the same.
#include <gtest/gtest.h>

#include <future>

#include "runtime/token_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(BeginsEarly, PhasesInARow) {
  OnToken token(adam());
  OnCpu cpu(adam());
  cpu.step();
  cpu.phases();
  token.warm_up();
  token.device->hold_work(true);
  const Execution forward = token.forward();
  const Execution gradient = token.t.execute_gradient();
  const Execution update = token.t.execute_optimizer_update();
  token.wait_until_begun(3);
  EXPECT_FALSE(forward.done());
  EXPECT_FALSE(update.cancel());  // it has begun
  token.device->hold_work(false);
  update.wait();
  EXPECT_NO_THROW(forward.wait());
  EXPECT_NO_THROW(gradient.wait());
  cpu.phases();
  EXPECT_EQ(read(token.net.w()), read(cpu.net.w()));
  EXPECT_EQ(read(token.net.b()), read(cpu.net.b()));
}

TEST(BeginsEarly, WhatDependsOnACancelledPhaseIsDropped) {
  OnToken token(adam());
  OnCpu cpu(adam());
  cpu.step();
  cpu.phases();
  token.warm_up();
  const std::uint64_t time_step = token.t.optimizer()->time_step();
  token.device->hold_work(true);
  const Execution forward = token.forward();
  token.wait_until_begun(1);
  token.device->hold_begins(true);
  const Execution gradient = token.t.execute_gradient();
  const Execution update = token.t.execute_optimizer_update();
  EXPECT_TRUE(gradient.cancel());
  token.device->hold_begins(false);
  token.wait_until_begun(3);
  EXPECT_TRUE(update.cancelled());  // which is known before any of it is over
  EXPECT_FALSE(forward.done());
  EXPECT_EQ(update.exception(), nullptr);
  token.device->hold_work(false);
  EXPECT_NO_THROW(forward.wait());
  EXPECT_THROW(gradient.wait(), CancelledError);
  EXPECT_THROW(update.wait(), CancelledError);
  EXPECT_EQ(token.t.optimizer()->time_step(), time_step);
  EXPECT_EQ(read(token.net.w()), read(cpu.net.w()));
  token.step().wait();
  cpu.step();
  EXPECT_EQ(read(token.net.w()), read(cpu.net.w()));
}

TEST(BeginsEarly, StepsBehindACancelledOneAreAsWithoutIt) {
  OnToken token(adam());
  OnCpu cpu(adam());
  cpu.step();
  cpu.phases();
  token.warm_up();
  token.device->hold_work(true);
  token.device->hold_begins(true);
  const Execution first = token.step(), dropped = token.step(),
                  last = token.step();
  EXPECT_TRUE(dropped.cancel());
  token.device->hold_begins(false);
  token.wait_until_begun(3);
  token.device->hold_work(false);
  first.wait();
  last.wait();
  EXPECT_THROW(dropped.wait(), CancelledError);
  cpu.step();
  cpu.step();
  EXPECT_EQ(read(token.net.w()), read(cpu.net.w()));
  EXPECT_EQ(token.t.optimizer()->time_step(), cpu.t.optimizer()->time_step());
}

TEST(BeginsEarly, AnErrorOfTheDeviceEndsWhatHadBegunBehindIt) {
  OnToken token(adam());
  token.warm_up();
  const std::uint64_t time_step = token.t.optimizer()->time_step();
  token.device->hold_work(true);
  const Execution forward = token.forward();
  const Execution gradient = token.t.execute_gradient();
  const Execution update = token.t.execute_optimizer_update();
  token.wait_until_begun(3);
  token.device->fail_next(std::make_exception_ptr(DeviceError("a fault")));
  token.device->hold_work(false);
  EXPECT_EQ(error_of<DeviceError>([&] { forward.wait(); }).what, "a fault");
  EXPECT_EQ(error_of<DeviceError>([&] { gradient.wait(); }).what, "a fault");
  EXPECT_EQ(error_of<DeviceError>([&] { update.wait(); }).what, "a fault");
  EXPECT_EQ(token.t.optimizer()->time_step(), time_step);
  EXPECT_NO_THROW(token.step().wait());
}

TEST(BeginsEarly, NobodyReadsWhatWasDropped) {
  OnToken token(adam());
  token.warm_up();
  token.device->hold_work(true);
  token.device->hold_begins(true);
  const Execution run = token.step();
  EXPECT_TRUE(run.cancel());
  auto result =
      std::async(std::launch::async, [&] { return read(token.net.y); });
  token.device->hold_begins(false);
  token.wait_until_begun(2);
  token.device->hold_work(false);
  EXPECT_THROW(result.get(), CancelledError);
}

}  // namespace
}  // namespace traingraph
