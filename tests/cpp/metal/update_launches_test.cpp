// SPDX-License-Identifier: MIT
// How tensors share launches of the update kernels.
#include <gtest/gtest.h>

#include "metal/kernels/update.h"

namespace traingraph::metal {
namespace {

/// A task that is nothing but a place in a launch.
UpdateTask plain_task(std::int64_t count, OpKind op = OpKind::SgdUpdate,
                      int buffer = 0) {
  UpdateTask task;
  task.spec.op = op;
  task.spec.count = count;
  for (auto& place : task.places) place = {buffer, 0};
  return task;
}

std::vector<UpdateLaunch> plan(const std::vector<UpdateTask>& tasks) {
  return plan_updates(tasks, kUpdateLimits);
}

TEST(UpdateLaunches, TakeAsManyTensorsAsATableHolds) {
  static_assert(kUpdateLimits.num_tensors == 64);
  for (int count : {1, 63, 64, 65, 200}) {
    std::vector<UpdateTask> tasks(count, plain_task(5));
    const auto launches = plan(tasks);
    EXPECT_EQ(launches.size(), (count + 63u) / 64);
    std::size_t num_tensors = 0;
    for (const UpdateLaunch& launch : launches) {
      EXPECT_EQ(launch.call.num_tensors, launch.tensors.size());
      EXPECT_LE(launch.tensors.size() * sizeof(formulas::UpdateTensor),
                kMaxTableBytes);
      num_tensors += launch.tensors.size();
    }
    EXPECT_EQ(num_tensors, static_cast<std::size_t>(count));
  }
}

TEST(UpdateLaunches, AreOfOneRuleAndTheSameBuffers) {
  UpdateTask other_rate = plain_task(5), other_buffer = plain_task(5);
  other_rate.spec.params.lr_scale = 0.5f;
  other_buffer.places[kUpdateSlots].buffer = 3;
  const auto launches =
      plan(std::vector{plain_task(5), other_rate, plain_task(7), other_buffer,
                       other_rate, plain_task(5, OpKind::AdamUpdate)});
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(launches[0].tensors.size(), 2u);
  EXPECT_EQ(launches[0].tensors[1].first_chunk, 1u);
  EXPECT_EQ(launches[0].tensors[1].count, 7u);
  EXPECT_EQ(launches[1].tensors.size(), 2u);
}

TEST(UpdateLaunches, DoSumsBeforeUpdatesReadThem) {
  const auto launches = plan(
      std::vector{plain_task(5), plain_task(5, OpKind::AccumulateGradient),
                  plain_task(5), plain_task(5, OpKind::AccumulateGradient)});
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].op, OpKind::AccumulateGradient);
  EXPECT_EQ(launches[0].tensors.size(), 2u);
}

// Positions of threads are 32 bits, whatever there is to update.
TEST(UpdateLaunches, NumberNoMoreThreadsThanFit) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  const auto launches = plan(std::vector(10, plain_task(kMax)));
  EXPECT_EQ(launches.size(), 3u);
  for (const UpdateLaunch& launch : launches) {
    EXPECT_LE(launch.num_chunks * formulas::kThreadsPerChunk, kMax);
    for (const formulas::UpdateTensor& tensor : launch.tensors) {
      EXPECT_EQ(tensor.count, std::uint32_t{1} << 31);
    }
  }
  Program program;
  const ValueId p = program.add_value(Role::Variable, {{kMax + 1}}, "p");
  const ValueId g = program.add_value(Role::Input, {{kMax + 1}}, "g");
  const ValueId hyperparameters =
      program.add_value(Role::Input, {{4}}, "hyperparameters");
  program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                 {p, g, kNoValue, hyperparameters, kNoValue});
  EXPECT_FALSE(has_update_launch(program, program.node(0), kUpdateLimits));
}

TEST(UpdateLaunches, LeaveOutWhatIsEmpty) {
  EXPECT_TRUE(plan(std::vector{plain_task(0)}).empty());
}

}  // namespace
}  // namespace traingraph::metal
