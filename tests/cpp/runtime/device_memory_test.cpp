// SPDX-License-Identifier: MIT
// A call that finds no memory has changed nothing, and arenas that grow do not
// pass for what was in them.
#include <gtest/gtest.h>

#include "runtime/device/verifying_context.h"
#include "runtime/wrapped_device.h"

namespace traingraph {
namespace {

using namespace testing;

class DeviceMemory : public NullDevice {
 protected:
  TrainingGraph train(const std::shared_ptr<DeviceContext>& on) {
    return net.train(sgd(0.1f), {}, Device(on));
  }
  std::shared_ptr<WrappedContext> context = std::make_shared<WrappedContext>();
  Linear net{4, 3, 5, 1, "a"};
};

TEST_F(DeviceMemory, ARefusedCallIsNotProfiled) {
  TrainingGraph t = train(context);
  t.execute(net.inputs, net.labels).wait();
  Gate gate("a");
  const Execution first = t.execute(net.inputs, net.labels);
  gate.wait_until_reached();
  const std::uint64_t steps = t.random_step();
  context->fail("input staging");
  EXPECT_THROW(
      t.execute(net.inputs, net.labels, {}, {.per_layer_profiling = true}),
      OutOfMemoryError);
  EXPECT_EQ(t.random_step(), steps);
  EXPECT_EQ(t.optimizer()->time_step(), steps + 1);
  gate.open();
  first.wait();
  EXPECT_THROW(t.profile(), StateError);
}

TEST_F(DeviceMemory, ARefusedCallDropsItsHandler) {
  TrainingGraph t = train(context);
  auto captured = std::make_shared<int>();
  const std::weak_ptr<int> handler = captured;
  context->fail("input staging");
  EXPECT_THROW(
      t.execute(net.inputs, net.labels, {},
                {.completion_handler =
                     [captured = std::move(captured)](const auto&) {}}),
      OutOfMemoryError);
  EXPECT_TRUE(handler.expired());
  t.execute(net.inputs, net.labels).wait();
}

TEST_F(DeviceMemory, AReferenceHasAllItsMemoryOrNone) {
  const auto verifying =
      make_verifying_context(Device::null().context(), context, 0);
  {
    TrainingGraph t = train(verifying);
    for (int n = 1; n < 6; ++n) {
      context->fail("", n);
      EXPECT_THROW(t.execute(net.inputs, net.labels), OutOfMemoryError);
    }
    t.execute(net.inputs, net.labels).wait();
  }
  verifying->drain();  // the thread that lets go of it last must not be its own
}

TEST_F(DeviceMemory, AnArenaHasTheHostsDataOrIsNotThere) {
  context->has_views = false;
  TrainingGraph t = train(context);
  const Floats w = host(net.w()), b = host(net.b());
  for (int n = 1; n < 3; ++n) {  // the uploads of w and of b
    context->fail("upload", n);
    EXPECT_THROW(t.execute(net.inputs, net.labels), OutOfMemoryError);
  }
  t.execute(net.inputs, net.labels).wait();
  EXPECT_EQ(read(net.w()), w);
  EXPECT_EQ(read(net.b()), b);
}

TEST_F(DeviceMemory, GradientsStayWhereOtherArenasGrow) {
  context->make_greedy(2);
  TrainingGraph t = train(context);
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  const auto gradient = t.gradient(net.w());
  EXPECT_EQ(gradient.size(), 15u);
  const ExecuteOptions inference{.batch_size = 2,
                                 .forward_for_inference = true};
  t.execute_forward(net.inputs, {}, {}, inference).wait();
  EXPECT_EQ(t.gradient(net.w()).data(), gradient.data());
  t.execute_optimizer_update().wait();
  t.execute_forward(net.inputs, net.labels, {}, {.batch_size = 2});
  EXPECT_THROW(t.gradient(net.w()), StateError);
  EXPECT_THROW(t.gradients(), StateError);
}

TEST_F(DeviceMemory, ResultsEndWithTheArenaTheyWereIn) {
  context->make_greedy(2);
  TrainingGraph t = train(context);
  t.execute(net.inputs, net.labels).wait();
  EXPECT_EQ(read(net.y), Floats(20, 0.0f));
  context->fail("step");
  EXPECT_THROW(t.execute(net.inputs, net.labels, {}, {.batch_size = 2}),
               OutOfMemoryError);
  EXPECT_THROW(read(net.y), StateError);
}

}  // namespace
}  // namespace traingraph
