// SPDX-License-Identifier: MIT
// GPUs that are there and cannot be used: each says why.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "emulator/control.h"
#import "metal/smoke_test.h"

namespace traingraph::metal {
namespace {

class Discover : public ::testing::Test {
 protected:
  ~Discover() override {
    emulator::set_has_device(true);
    emulator::set_has_unified_memory(true);
    emulator::set_device_name("Emulated GPU");
    emulator::set_is_apple_silicon(true);
    emulator::set_has_heaps(true);
    emulator::wait_until_idle();
    emulator::reset_faults();
  }

  static void expect_reason(const char* reason) {
    const Discovery found = discover_gpu();
    EXPECT_FALSE(found.device);
    EXPECT_NE(found.reason.find(reason), std::string::npos) << found.reason;
  }
  static void make_virtual() {
    emulator::set_device_name("Apple Paravirtual device");
  }
};

TEST_F(Discover, AUsableOneHasNoReason) {
  const Discovery found = discover_gpu();
  ASSERT_TRUE(found.device);
  EXPECT_EQ(found.reason, "");
  EXPECT_EQ(smoke_test(*found.device), "");
}

TEST_F(Discover, NoneOrWithMemoryOfItsOwn) {
  emulator::set_has_device(false);
  expect_reason("no Metal device");
  emulator::set_has_device(true);
  emulator::set_has_unified_memory(false);
  expect_reason("memory of its own");
}

TEST_F(Discover, AnOlderFamily) {
  make_virtual();
  emulator::set_is_apple_silicon(false);
  expect_reason("older family");
  expect_reason("virtual machine");
}

// Hosted CI is so: the device is there, the first heap is nil.
TEST_F(Discover, NoHeaps) {
  make_virtual();
  emulator::set_has_heaps(false);
  expect_reason("\"Apple Paravirtual device\" is not usable");
  expect_reason("no usable heap");
  expect_reason("virtual machine");
}

TEST_F(Discover, AVirtualOneThatComputesIsUsed) {
  make_virtual();
  EXPECT_TRUE(discover_gpu().device);
}

TEST_F(Discover, ScatteredHeaps) {
  emulator::scatter_heaps(true);
  expect_reason("do not lie at their offsets");
}

TEST_F(Discover, WrongResults) {
  emulator::corrupt_operation("multiplication",
                              [](auto& results) { results[0][2] += 1; });
  expect_reason("wrong result");
}

TEST_F(Discover, CommandBuffersThatFail) {
  emulator::fail_command_buffer(/*code=*/1);
  expect_reason("it fails: ");
}

TEST_F(Discover, NothingCompilesOrIsEncoded) {
  emulator::fail_compile();
  expect_reason("refuses a tiny computation");
  emulator::reset_faults();
  emulator::raise_in_encode();
  expect_reason("refuses a tiny computation");
  emulator::reset_faults();
  emulator::fail_allocation();
  expect_reason("no usable heap");
}

TEST_F(Discover, LeavesNothingBehind) {
  {
    const Discovery found = discover_gpu();
  }
  emulator::wait_until_idle();
  const auto before = emulator::live_objects();
  for (int i = 0; i < 3; ++i) const Discovery found = discover_gpu();
  emulator::wait_until_idle();
  EXPECT_EQ(emulator::live_objects(), before);
}

/// What such work uses is never let go.
void meet_work_that_never_ends() {
  const Discovery found = discover_gpu();
  if (!found.device) std::exit(2);
  emulator::hold_work(true);
  const std::string reason =
      smoke_test(*found.device, std::chrono::milliseconds(50));
  emulator::hold_work(false);
  emulator::wait_until_idle();
  const bool is_told = reason.find("does not finish") != std::string::npos;
  std::exit(is_told && smoke_test(*found.device).empty() ? 0 : 3);
}

TEST(DiscoverDeathTest, WorkThatNeverEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(meet_work_that_never_ends(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace traingraph::metal
