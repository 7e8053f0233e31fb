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

TEST(Devices, AnyIsTheDefault) {
  EXPECT_EQ(Device(), Device::any());
  EXPECT_EQ(Device(DeviceType::CPU, /*selects_multiple_compute_devices=*/true),
            Device::cpu());
}

TEST(Devices, GpusByName) {
  const ErrorInfo two = error_of<UnsupportedError>(
      [] { Device::with_gpu_devices({"left", "right"}); });
  EXPECT_EQ(two.got, "\"left\", \"right\"");
  EXPECT_EQ(two.expected, "one GPU");
  if (!Device::reason_unavailable(DeviceType::GPU).empty()) {
    EXPECT_THROW(Device::with_gpu_devices({"left"}), DeviceError);
    return;
  }
  const auto names = Device::gpu().gpu_devices();
  EXPECT_EQ(Device::with_gpu_devices(names), Device::gpu());
  EXPECT_THROW(Device::with_gpu_devices({"left"}), InvalidArgument);
  EXPECT_THROW(Device::with_gpu_devices({}), InvalidArgument);
}

Floats momentum_of(const Tensor& parameter) {
  parameter.synchronize_optimizer_data();
  const OptimizerData slot = parameter.optimizer_data().at(0);
  const auto* first = reinterpret_cast<const float*>(slot.data.data());
  return {first, first + slot.data.size() / sizeof(float)};
}

TEST(Devices, OptimizerBuffersGoFromOneParameterToAnother) {
  for (const Device& device : {test_device(), other_device()}) {
    Linear from, to;
    TrainingGraph t = from.train(sgd(0.1f, 0.5f));
    t.execute(from.inputs, from.labels).wait();
    EXPECT_TRUE(to.w().optimizer_device_data().empty());
    const auto buffers = from.w().optimizer_device_data();
    ASSERT_EQ(buffers.size(), 1u);
    EXPECT_EQ(buffers[0].name(), "momentum");
    EXPECT_EQ(buffers[0].size_in_bytes(), 6 * sizeof(float));
    EXPECT_EQ(buffers[0].device(), test_device());
    // Buffers can be bound before the graph is compiled, and after.
    to.w().bind_optimizer_data({}, buffers);
    TrainingGraph other = to.train(sgd(0.1f, 0.5f), {}, device);
    EXPECT_EQ(momentum_of(to.w()), momentum_of(from.w()));
    t.execute(from.inputs, from.labels).wait();
    if (device != test_device()) {
      // The buffers go through the host.
      const Floats momentum = momentum_of(from.w());
      const TensorData data[] = {view(momentum)};
      EXPECT_THROW(other.bind_optimizer_data({}, to.w(), buffers),
                   InvalidArgument);
      other.bind_optimizer_data(data, to.w());
    } else {
      other.bind_optimizer_data({}, to.w(), buffers);
    }
    EXPECT_EQ(momentum_of(to.w()), momentum_of(from.w()));
  }
}

TEST(Devices, OptimizerBuffersKeepTheirNames) {
  const auto adam = [] { return std::make_shared<optimizers::Adam>(0.1f); };
  Linear from, to;
  TrainingGraph t = from.train(adam());
  const auto buffers = from.w().optimizer_device_data();
  ASSERT_EQ(buffers.size(), 2u);
  const std::vector swapped{buffers[1], buffers[0]};
  // Where there are none yet, compile finds it.
  to.w().bind_optimizer_data({}, swapped);
  EXPECT_TRUE(to.w().optimizer_data().empty());
  EXPECT_THROW(to.train(adam()), InvalidArgument);
  to.w().bind_optimizer_data({}, buffers);
  TrainingGraph other = to.train(adam());
  EXPECT_THROW(to.w().bind_optimizer_data({}, swapped), InvalidArgument);
  to.w().bind_optimizer_data({}, buffers);
}

TEST(Devices, OptimizerBuffersNeedAnOptimizerThatKeepsThem) {
  const Floats ones(6, 1.0f);
  const TensorData one[] = {view(ones)};
  const auto count = [](const Tensor& tensor) {
    return tensor.optimizer_data().size();
  };
  Linear net;
  // The buffer is for the optimizer that is compiled next, which has none.
  net.w().bind_optimizer_data(one);
  EXPECT_EQ(count(net.w()), 0u);
  EXPECT_THROW(net.train(sgd(0.1f)), InvalidArgument);
  net.w().bind_optimizer_data({});
  TrainingGraph t = net.train(sgd(0.1f));
  EXPECT_THROW(net.w().bind_optimizer_data(one), InvalidArgument);
  EXPECT_EQ(count(net.w()), 0u);
  EXPECT_THROW(net.y.bind_optimizer_data(one), InvalidArgument);
}

TEST(Devices, OptimizerBuffersOfOtherSizesAreRefused) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  const auto buffers = net.w().optimizer_device_data();
  const Tensor b = net.layer->biases();
  EXPECT_THROW(b.bind_optimizer_data({}, buffers), ShapeError);
  const std::vector twice{buffers[0], buffers[0]};
  EXPECT_THROW(net.w().bind_optimizer_data({}, twice), InvalidArgument);
  const Floats zeros(6);
  const TensorData data[] = {view(zeros), view(zeros)};
  EXPECT_THROW(net.w().bind_optimizer_data(data, buffers), InvalidArgument);
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
  EXPECT_EQ(error.expected, test_device().name());
  EXPECT_NE(error.got.find(other_device().name()), std::string::npos);
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
