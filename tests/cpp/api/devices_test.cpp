// SPDX-License-Identifier: MIT
// Parameters that go from one device to another.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// The weights after `steps` of plain SGD on the test device.
Floats weights_after(int steps) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  for (int i = 0; i < steps; ++i) t.execute(net.inputs, net.labels);
  return read(net.w());
}

TEST(Devices, AGraphThatIsGoneLeavesItsNewestValues) {
  Linear net;
  {
    TrainingGraph t = net.train(sgd(0.1f));
    for (int i = 0; i < 3; ++i) t.execute(net.inputs, net.labels);
  }
  TrainingGraph moved = net.train(sgd(0.1f), {}, other_device());
  EXPECT_EQ(net.w().device(), other_device());
  EXPECT_EQ(host(net.w()), weights_after(3));
  EXPECT_EQ(read(net.w()), weights_after(3));
}

TEST(Devices, AGraphThatIsCompiledAgainTakesItsParametersAlong) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute(net.inputs, net.labels);
  t.compile(other_device());
  EXPECT_EQ(read(net.w()), weights_after(1));
  t.execute(net.inputs, net.labels);
  const Floats there = read(net.w());  // one of the devices computes nothing
  t.compile(test_device());
  EXPECT_EQ(read(net.w()), there);
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(read(net.w()), computes() ? weights_after(2) : there);
  const MemoryReport report = t.memory();
  EXPECT_EQ(report.predicted_bytes, report.allocated_bytes);
  EXPECT_EQ(report.parameter_bytes, 2 * device_alignment());
}

TEST(Devices, ADeviceThatIsInUseIsNotLeft) {
  Linear net;
  std::optional<TrainingGraph> t = net.train(sgd(0.1f));
  t->execute(net.inputs, net.labels).wait();
  TrainingGraph other({net.graph});
  other.add_inputs({{"x", net.x}});
  const ErrorInfo error =
      error_of<StateError>([&] { other.compile(other_device()); });
  EXPECT_EQ(error.op, "compile");
  EXPECT_EQ(error.node, "w");
  EXPECT_EQ(error.expected, to_string(test_device().type()));
  EXPECT_NE(error.got.find(to_string(other_device().type())),
            std::string::npos);
  EXPECT_FALSE(error.hint.empty());
  EXPECT_FALSE(other.is_compiled());
  // The first graph goes on as if nothing had happened.
  t->execute(net.inputs, net.labels);
  EXPECT_EQ(read(net.w()), weights_after(2));
  t.reset();
  other.compile(other_device());
  EXPECT_EQ(read(net.w()), weights_after(2));
}

TEST(Devices, GraphsOnOneDeviceShareTheirParameters) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  InferenceGraph other({net.graph});
  other.add_inputs({{"x", net.x}});
  other.compile(test_device());
  t.execute(net.inputs, net.labels);
  // Both hold them: neither may leave alone, but a failed compile lets go.
  EXPECT_THROW(t.compile(other_device()), StateError);
  other.compile(other_device());
  EXPECT_EQ(read(net.w()), weights_after(1));
  t.compile(other_device());
  EXPECT_EQ(read(net.w()), weights_after(1));
}

TEST(Devices, WhatWasNeverRunMovesItsHostValues) {
  Linear net;
  const Floats before = host(net.w());
  {
    TrainingGraph t = net.train(sgd(0.1f));
  }
  TrainingGraph t = net.train(sgd(0.1f), {}, other_device());
  EXPECT_EQ(read(net.w()), before);
}

TEST(Devices, ParametersMoveThereAndBackThroughAnotherGraph) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute(net.inputs, net.labels).wait();
  t.compile(other_device());  // t's first memory is free now
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
  EXPECT_EQ(read(net.w()), weights_after(2));
}

}  // namespace
}  // namespace traingraph
