// SPDX-License-Identifier: MIT
// The memory report: predicted equals allocated, and only what is used is.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

enum Plan { kStep = 1, kPhases = 2, kInference = 4 };

class PlanCombination : public ::testing::TestWithParam<int> {};

TEST_P(PlanCombination, PredictedIsAllocated) {
  const int plans = GetParam();
  Linear net(64, 32, 16);
  TrainingGraph t = net.train(sgd(0.1f, 0.9f));
  const MemoryReport before = t.memory();
  EXPECT_EQ(before.allocated_bytes, 0u);
  EXPECT_EQ(before.predicted_bytes, 0u);
  EXPECT_EQ(t.device_memory_size(), before.step.arena_bytes);
  if (plans & kPhases) {
    t.execute_forward(net.inputs, net.labels);
    t.execute_gradient();
    t.execute_optimizer_update().wait();
  }
  if (plans & kStep) t.execute(net.inputs, net.labels).wait();
  if (plans & kInference) {
    t.execute(net.inputs, net.labels, {}, {.forward_for_inference = true})
        .wait();
  }
  const MemoryReport after = t.memory();
  EXPECT_EQ(after.step.is_allocated, bool(plans & kStep));
  EXPECT_EQ(after.phases.is_allocated, bool(plans & kPhases));
  EXPECT_EQ(after.inference.is_allocated, bool(plans & kInference));
  EXPECT_EQ(after.step.arena_bytes, before.step.arena_bytes);
  EXPECT_EQ(after.predicted_bytes, after.allocated_bytes);
  std::size_t arenas = 0;
  if (plans & kStep) arenas += before.step.arena_bytes;
  if (plans & kPhases) arenas += before.phases.arena_bytes;
  if (plans & kInference) arenas += before.inference.arena_bytes;
  EXPECT_EQ(t.device_memory_size(), arenas);
  // Slots are touched by updates only, all else persistent by any execution.
  std::size_t persistent = before.persistent_bytes;
  if (!(plans & (kStep | kPhases))) persistent -= before.optimizer_bytes;
  EXPECT_EQ(after.allocated_bytes, persistent + arenas);
  if (plans & (kStep | kPhases)) {
    EXPECT_EQ(
        after.allocated_bytes,
        before.total_bytes(plans & kStep, plans & kPhases, plans & kInference));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanCombination, ::testing::Range(1, 8));

TEST(Memory, RequiredBytesAreThoseOfAGraphOfThatBatch) {
  Linear net(6, 9, 5);
  const TrainingGraph t = net.train(std::make_shared<optimizers::Adam>());
  for (const std::int64_t batch : {1, 2, 5, 6, 7, 100, 4099}) {
    Linear other(batch, 9, 5);
    const TrainingGraph of_that_size =
        other.train(std::make_shared<optimizers::Adam>());
    const std::size_t expected = of_that_size.memory().total_bytes(true);
    EXPECT_EQ(t.required_bytes(batch), expected) << batch;
    EXPECT_TRUE(t.fits(expected, batch));
    EXPECT_FALSE(t.fits(expected - 1, batch));
  }
  EXPECT_EQ(t.required_bytes(), t.memory().total_bytes(true));
  EXPECT_EQ(t.memory().allocated_bytes, 0u);
}

TEST(Memory, LargestBatchIsTheLastThatFits) {
  Linear net(6, 9, 5);
  const TrainingGraph t = net.train(sgd(0.1f));
  for (const std::int64_t batch : {1, 3, 6, 7, 1000}) {
    const std::size_t room = t.required_bytes(batch);
    const std::int64_t largest = t.largest_batch(room);
    EXPECT_GE(largest, batch);
    EXPECT_TRUE(t.fits(room, largest));
    EXPECT_FALSE(t.fits(room, largest + 1));
  }
  EXPECT_EQ(t.largest_batch(t.required_bytes(1) - 1), 0);
  EXPECT_EQ(t.largest_batch(0), 0);
}

TEST(Memory, SizesThatNoDeviceTakesEndInTypedErrors) {
  Linear net(6, 9, 5);
  const TrainingGraph t = net.train(sgd(0.1f));
  // Kernels count rows in 32 bits, and sizes end at 2^47 bytes.
  for (const int bits : {31, 33, 40, 60, 62}) {
    const std::int64_t batch = std::int64_t{1} << bits;
    try {
      EXPECT_GT(t.required_bytes(batch), static_cast<std::size_t>(batch) * 56);
    } catch (const UnsupportedError&) {
    } catch (const ShapeError&) {
    }
  }
}

TEST(Memory, WhatCannotFollowTheBatchHasOneSize) {
  Linear net(1, 9, 5);
  const TrainingGraph t = net.train(sgd(0.1f));
  EXPECT_EQ(t.largest_batch(SIZE_MAX), 1);
  EXPECT_THROW(t.required_bytes(2), UnsupportedError);
  EXPECT_THROW(t.required_bytes(-1), InvalidArgument);
  EXPECT_EQ(t.required_bytes(1), t.required_bytes());
}

TEST(Memory, CategoriesAreExact) {
  Linear net(64, 32, 64);  // sizes are multiples of the alignment
  TrainingGraph t = net.train(std::make_shared<optimizers::Adam>());
  const MemoryReport report = t.memory();
  const std::size_t parameters = (64 * 32 + 64) * 4;
  EXPECT_EQ(report.parameter_bytes, parameters);
  EXPECT_EQ(report.optimizer_bytes, 2 * parameters);
  EXPECT_EQ(report.statistics_bytes, 0u);
  EXPECT_EQ(report.constant_bytes, 0u);
  // x, label, and the hidden hyperparameters and random state.
  EXPECT_EQ(report.input_bytes,
            (64 * 32 + 64 * 64) * 4u + 2 * device_alignment());
  EXPECT_EQ(report.phases.gradient_bytes, parameters);
  for (const PlanMemory* plan :
       {&report.step, &report.phases, &report.inference}) {
    EXPECT_GE(plan->arena_bytes, plan->live_peak_bytes);
    EXPECT_LE(plan->arena_bytes, plan->unplanned_bytes);
  }
  const std::string text = report.to_string();
  EXPECT_NE(text.find("optimizer slots"), std::string::npos);
}

TEST(Memory, WithoutReuseEveryBufferHasItsOwnBytes) {
  Linear net(64, 32, 16);
  TrainingGraph t = net.train(sgd(0.1f), {.reuse_memory = false});
  const MemoryReport report = t.memory();
  EXPECT_EQ(report.step.arena_bytes, report.step.unplanned_bytes);
  EXPECT_EQ(report.phases.arena_bytes, report.phases.unplanned_bytes);
}

TEST(Memory, BeforeCompile) {
  Linear net;
  TrainingGraph t({net.graph});
  EXPECT_EQ(t.device_memory_size(), 0u);
  EXPECT_THROW(t.memory(), StateError);
  EXPECT_THROW(t.plan_description(), StateError);
  EXPECT_FALSE(t.is_compiled());
  EXPECT_FALSE(t.device().has_value());
  EXPECT_NE(t.summarized_dot_description().find("digraph"), std::string::npos);
}

TEST(Memory, SmallerBatchesShareTheArenas) {
  Linear net(64, 32, 16);
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute(net.inputs, net.labels).wait();
  const std::size_t before = t.memory().allocated_bytes;
  for (std::int64_t batch : {1, 7, 33, 63}) {
    t.execute(net.inputs, net.labels, {}, {.batch_size = batch}).wait();
  }
  EXPECT_EQ(t.memory().allocated_bytes, before);
}

TEST(Memory, GraphsLeaveNothingBehind) {
  for (const bool runs : {false, true}) {
    std::weak_ptr<TensorState> parameter;
    {
      Linear net;
      parameter = net.w().state();
      TrainingGraph t = net.train(sgd(0.1f, 0.9f));
      if (runs) t.execute(net.inputs, net.labels);
      test_device().synchronize();
    }
    EXPECT_TRUE(parameter.expired()) << "after " << runs << " steps";
  }
}

TEST(Memory, StagingIsBoundedByWhatIsInFlight) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  for (int i = 0; i < 100; ++i) t.execute(net.inputs, net.labels).wait();
  const std::size_t staging = t.memory().staging_bytes;
  for (int i = 0; i < 100; ++i) t.execute(net.inputs, net.labels).wait();
  EXPECT_LE(t.memory().staging_bytes, staging * 4);
}

}  // namespace
}  // namespace traingraph
