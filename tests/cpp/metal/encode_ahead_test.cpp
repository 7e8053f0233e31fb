// SPDX-License-Identifier: MIT
// Encoding ahead: what depends on work in flight is encoded at once and waits
// only to be committed; then it is asked again whether it may run.
#include <gtest/gtest.h>

#include <random>

#include "metal/gpu_test.h"

namespace traingraph {
namespace {

using namespace testing;

class EncodeAhead : public GpuTest {
 protected:
  EncodeAhead() {
    emulator::commit_and_continue_every(0);
    for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
      net->step().wait();
      net->phases();
      net->phases();
    }
  }

  Twins twins;
};

TEST_F(EncodeAhead, TheNextPhaseIsEncodedBeforeTheLastIsOver) {
  const Encoded encoded;
  emulator::hold_work(true);
  const Execution forward = twins.gpu.forward();
  const Execution gradient = twins.gpu.t->execute_gradient();
  const Execution update = twins.gpu.t->execute_optimizer_update();
  EXPECT_TRUE(are_encoded(encoded, 2, 1));
  EXPECT_FALSE(forward.done());
  emulator::hold_work(false);
  update.wait();
  EXPECT_TRUE(forward.done() && gradient.done());
  twins.cpu.phases();
  twins.expect_equal();
}

TEST_F(EncodeAhead, TheNextStepIsEncodedBeforeTheLastIsOver) {
  const Encoded encoded;
  emulator::hold_work(true);
  const Execution runs[] = {twins.gpu.step(), twins.gpu.step(),
                            twins.gpu.step()};
  EXPECT_TRUE(are_encoded(encoded, 3, 3));
  for (const Execution& run : runs) EXPECT_FALSE(run.done());
  emulator::hold_work(false);
  for (const Execution& run : runs) run.wait();
  for (int i = 0; i < 3; ++i) twins.cpu.step();
  twins.expect_equal();
}

TEST_F(EncodeAhead, WhatIsEncodedMayBeCancelled) {
  const Floats before = twins.gpu.parameters();
  const Floats statistics = twins.gpu.statistics();
  const auto step = twins.gpu.t->optimizer()->time_step();
  const Encoded encoded;
  emulator::hold_work(true);
  const Execution forward = twins.gpu.forward();
  Execution gradient = twins.gpu.t->execute_gradient();
  const Execution update = twins.gpu.t->execute_optimizer_update();
  EXPECT_TRUE(are_encoded(encoded, 2, 1));
  EXPECT_TRUE(gradient.cancel());
  const long buffers = emulator::counters().command_buffers;
  emulator::hold_work(false);
  forward.wait();
  EXPECT_THROW(gradient.wait(), CancelledError);
  EXPECT_THROW(update.wait(), CancelledError);
  Device::gpu().synchronize();
  EXPECT_EQ(twins.gpu.parameters(), before);
  EXPECT_NE(twins.gpu.statistics(), statistics);  // the forward's
  EXPECT_EQ(twins.gpu.t->optimizer()->time_step(), step);
  EXPECT_GE(emulator::counters().command_buffers, buffers + 1);
  twins.cpu.forward();
  twins.align();
  for (SmallNet* net : {&twins.gpu, &twins.cpu}) net->phases();
  twins.expect_equal();
}

TEST_F(EncodeAhead, AFailureDropsWhatIsEncoded) {
  const Floats before = twins.gpu.parameters();
  const Encoded encoded;
  emulator::hold_work(true);
  emulator::fail_command_buffer(/*code=*/1);
  const Execution forward = twins.gpu.forward();
  const Execution gradient = twins.gpu.t->execute_gradient();
  const Execution update = twins.gpu.t->execute_optimizer_update();
  EXPECT_TRUE(are_encoded(encoded, 2, 1));
  emulator::hold_work(false);
  for (const Execution* run : {&forward, &gradient, &update}) {
    EXPECT_THROW(run->wait(), DeviceError);
  }
  EXPECT_EQ(twins.gpu.parameters(), before);
}

// MPSGraph may commit while it encodes: then it has to be in turn.
TEST_F(EncodeAhead, MPSGraphThatCommitsWaitsForItsTurn) {
  for (const bool is_silent : {false, true}) {
    int errors = 0;
    emulator::commit_silently(is_silent);
    emulator::commit_and_continue_every(3);
    emulator::delay_completion(0.001);
    for (int i = 0; i < 8; ++i) {
      for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
        try {
          net->phases();
        } catch (const DeviceError& error) {
          // Once for each phase; after that it is not encoded ahead.
          EXPECT_TRUE(is_silent) << error.what();
          EXPECT_LE(++errors, 3) << error.what();
          emulator::commit_and_continue_every(3);
          twins.align();
          net->phases();
        }
      }
    }
    expect_near(twins.gpu.parameters(), twins.cpu.parameters(), 1e-4);
  }
}

TEST_F(EncodeAhead, CancelsAtRandomDropAllOrNothing) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 15; ++round) {
    emulator::commit_and_continue_every(static_cast<int>(random() % 3));
    emulator::delay_completion(random() % 2 ? 0.001 : 0);
    const bool holds = random() % 2;
    emulator::hold_work(holds);
    std::vector<Execution> runs;
    for (int i = 0; i < 6; ++i) runs.push_back(twins.gpu.step());
    std::thread releases([&] { emulator::hold_work(false); });
    for (Execution& run : runs) {
      if (random() % 2) run.cancel();
    }
    releases.join();
    int num_done = 0;
    for (const Execution& run : runs) {
      try {
        run.wait();
        ++num_done;
      } catch (const CancelledError&) {
      }
    }
    for (int i = 0; i < num_done; ++i) twins.cpu.step().wait();
    EXPECT_EQ(twins.gpu.t->optimizer()->time_step(),
              twins.cpu.t->optimizer()->time_step());
    EXPECT_EQ(twins.gpu.t->random_step(), twins.cpu.t->random_step());
    expect_near(twins.gpu.parameters(), twins.cpu.parameters(), 1e-3);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace traingraph
