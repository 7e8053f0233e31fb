// SPDX-License-Identifier: MIT
// Plans of smaller batches: how many are kept, and what is said of them.
#include <gtest/gtest.h>

#include "api/batch_net.h"

namespace traingraph {
namespace {

using namespace testing;  // NOLINT: helpers of these tests

TEST(BatchPlans, TwoHundredSizesInRotationAreCompiledOnce) {
  constexpr std::int64_t kSizes = 200;
  Cnn net(kSizes);
  TrainingGraph t = net.train();
  const Data data(kSizes);
  t.execute(data.inputs, data.labels).wait();
  const std::size_t bytes = t.memory().allocated_bytes;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t batch = 1; batch <= kSizes; ++batch) {
      t.execute(data.inputs, data.labels, {}, {.batch_size = batch});
    }
    EXPECT_EQ(t.compile_count(), kSizes);
  }
  t.synchronize();
  const BatchPlans plans = t.report().batch_plans;
  EXPECT_EQ(plans.sizes, kSizes - 1);
  EXPECT_EQ(plans.evictions, 0);
  EXPECT_GT(plans.bytes, 0u);
  EXPECT_LE(plans.bytes, plans.limit_bytes);
  // They share the arena of the largest.
  EXPECT_EQ(t.memory().allocated_bytes, bytes);
  EXPECT_EQ(t.memory().predicted_bytes, bytes);
}

TEST(BatchPlans, PlansMakeRoomByBytes) {
  Cnn net(12), same(12);
  const Data data(12);
  const auto run = [&](TrainingGraph& t, std::int64_t batch) {
    t.execute(data.inputs, data.labels, {}, {.batch_size = batch}).wait();
  };
  TrainingGraph roomy = same.train();
  for (std::int64_t batch = 1; batch <= 3; ++batch) run(roomy, batch);
  const std::size_t three = roomy.report().batch_plans.bytes;
  TrainingGraph t = net.train({.batch_plans_bytes = three + three / 6});
  for (std::int64_t batch = 1; batch <= 3; ++batch) run(t, batch);
  EXPECT_EQ(t.report().batch_plans.bytes, three);
  EXPECT_EQ(t.report().batch_plans.sizes, 3);
  EXPECT_EQ(t.compile_count(), 4);
  run(t, 1);  // 2 is the oldest now
  run(roomy, 1);
  run(t, 4);
  run(roomy, 4);
  EXPECT_EQ(t.report().batch_plans.evictions, 1);
  EXPECT_EQ(t.report().batch_plans.sizes, 3);
  EXPECT_EQ(t.compile_count(), 5);
  for (std::int64_t batch : {1, 3, 4, 12}) {
    run(t, batch);
    run(roomy, batch);
  }
  EXPECT_EQ(t.compile_count(), 5);
  run(t, 2);
  run(roomy, 2);
  EXPECT_EQ(t.compile_count(), 6);
  EXPECT_EQ(roomy.compile_count(), 5);
  EXPECT_NE(table(t.report()).find("3 smaller batch sizes"), std::string::npos)
      << table(t.report());
  EXPECT_EQ(read(net.conv->weights()), read(same.conv->weights()));
  EXPECT_EQ(t.memory().predicted_bytes, t.memory().allocated_bytes);
}

TEST(BatchPlans, WithoutRoomTheNewestPlanIsKept) {
  Cnn net(8);
  TrainingGraph t = net.train({.batch_plans_bytes = 0});
  const Data data(8);
  for (int i = 0; i < 3; ++i) {
    t.execute(data.inputs, data.labels, {}, {.batch_size = 5}).wait();
  }
  EXPECT_EQ(t.compile_count(), 2);
  EXPECT_EQ(t.report().batch_plans.sizes, 1);
  // Of phases that belong together, the plan of the first one is not dropped.
  t.execute_forward(data.inputs, data.labels, {}, {.batch_size = 3});
  t.execute_gradient();
  t.execute_optimizer_update().wait();
  EXPECT_EQ(t.compile_count(), 3);
}

TEST(BatchPlans, ASizeCountsOnceWhateverRuns) {
  Cnn net(8);
  TrainingGraph t = net.train();
  const Data data(8);
  t.execute(data.inputs, data.labels, {}, {.batch_size = 5});
  t.execute_forward(data.inputs, data.labels, {}, {.batch_size = 5});
  t.execute_gradient();
  t.execute_optimizer_update();
  t.execute(data.inputs, {}, {},
            {.batch_size = 5, .forward_for_inference = true})
      .wait();
  EXPECT_EQ(t.compile_count(), 2);
  EXPECT_EQ(t.report().batch_plans.sizes, 1);
}

}  // namespace
}  // namespace traingraph
