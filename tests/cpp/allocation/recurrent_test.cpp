// SPDX-License-Identifier: MIT
// Recurrent layers and ops at rest: after the first step nothing is allocated.
#include <gtest/gtest.h>

#include "allocation/count_allocations.h"
#include "support/recurrent_networks.h"

namespace traingraph {
namespace {

using namespace testing;

// Products that are loops of ours, and those of oneDNN.
constexpr RecurrentSize kSmall{
    .steps = 4, .samples = 1, .features = 5, .hidden = 8};
constexpr RecurrentSize kLarge{
    .steps = 9, .samples = 20, .features = 33, .hidden = 70};

/// oneDNN makes a map of a primitive's arguments in each call and frees it;
/// see "Allocations" in docs/performance.md.
template <class Step>
void expect_no_allocations(const std::string& name, const Step& step) {
  SCOPED_TRACE(name);
  constexpr std::size_t kSteps = 20;
  step();
  step();
  start_counting();
  step();
  const Allocations one = stop_counting();
  start_counting();
  for (std::size_t i = 0; i < kSteps; ++i) step();
  const Allocations many = stop_counting();
  EXPECT_EQ(one.ours, 0u);
  EXPECT_EQ(many.ours, 0u);
  EXPECT_EQ(many.in_engine, kSteps * one.in_engine);
}

TEST(RecurrentAllocation, Layers) {
  const ExecuteOptions synchronous{.synchronous = true};
  for (const char* name : kRecurrentLayers) {
    for (const RecurrentSize& size : {kSmall, kLarge}) {
      const RecurrentTraining net(name, size);
      TrainingGraph t = net.train(Device::cpu());
      const std::string what =
          std::string(name) + ", " + std::to_string(size.hidden);
      expect_no_allocations(what + ", step", [&] {
        t.execute(net.inputs, net.labels, {}, synchronous);
      });
      expect_no_allocations(what + ", asynchronous step",
                            [&] { t.execute(net.inputs, net.labels).wait(); });
      expect_no_allocations(what + ", phases", [&] {
        t.execute_forward(net.inputs, net.labels, {}, synchronous);
        t.execute_gradient(synchronous);
        t.execute_optimizer_update(synchronous);
      });
    }
  }
}

TEST(RecurrentAllocation, OpsAndTheirGradients) {
  for (const char* name : kRecurrentOps) {
    for (const RecurrentSize& size : {kSmall, kLarge}) {
      const RecurrentOps ops(name, size);
      InferenceGraph inference = ops.compile(Device::cpu());
      expect_no_allocations(
          std::string(name) + ", " + std::to_string(size.hidden),
          [&] { inference.execute(ops.data).wait(); });
    }
  }
}

}  // namespace
}  // namespace traingraph
