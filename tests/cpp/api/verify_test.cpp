// SPDX-License-Identifier: MIT
// Executions that a second device repeats and checks.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

CompileOptions verified_by(const Device& device, double tolerance = 1e-3) {
  return {.verify = device, .verify_tolerance = tolerance};
}

/// A device that agrees verifies: the CPU, or null where nothing is computed.
CompileOptions verified(double tolerance = 1e-3) {
  return verified_by(computes() ? Device::cpu() : Device::null(), tolerance);
}

TEST(Verify, DevicesThatAgreeTrainAsIfAlone) {
  Linear alone, watched;
  TrainingGraph a = alone.train(sgd(0.1f, 0.9f));
  TrainingGraph b = watched.train(sgd(0.1f, 0.9f), verified());
  for (int i = 0; i < 3; ++i) {
    const float loss = a.execute(alone.inputs, alone.labels).result().loss();
    EXPECT_EQ(b.execute(watched.inputs, watched.labels).result().loss(), loss);
    for (auto* pair : {&a, &b}) {
      Linear& net = pair == &a ? alone : watched;
      pair->execute_forward(net.inputs, net.labels);
      pair->execute_gradient();
      pair->execute_optimizer_update().wait();
    }
    EXPECT_EQ(read(watched.w()), read(alone.w()));
  }
}

TEST(Verify, EditedGradientsAreNoDisagreement) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), verified());
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient().wait();
  t.set_gradient_data(net.w(), random_floats(6, 30));
  t.execute_optimizer_update().wait();
}

TEST(Verify, ValuesThatAreSetAndBoundReachBothDevices) {
  Linear alone, watched;
  TrainingGraph a = alone.train(sgd(0.1f, 0.9f));
  TrainingGraph b = watched.train(sgd(0.1f, 0.9f), verified());
  for (auto* t : {&a, &b}) {
    Linear& net = t == &a ? alone : watched;
    const Floats w = random_floats(6, 20), other = random_floats(12, 21);
    t->bind_and_write_data(net.inputs);
    t->bind_and_write_data(net.labels);
    for (int i = 0; i < 3; ++i) {
      t->execute({}).wait();
      net.w().set_data(view(w));
      t->execute({{"x", view(other)}}).wait();
    }
  }
  EXPECT_EQ(read(watched.w()), read(alone.w()));
}

TEST(Verify, PoisonIsIgnored) {
  Linear net;
  CompileOptions options = verified();
  options.poison_memory = true;
  TrainingGraph t = net.train(sgd(0.1f), options);
  for (int i = 0; i < 3; ++i) t.execute(net.inputs, net.labels).wait();
}

TEST(Verify, TheDeviceIsTheOneThatComputes) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), verified());
  const Execution execution = t.execute(net.inputs, net.labels);
  test_device().synchronize();
  EXPECT_TRUE(execution.done());
  const Floats fives(6, 5.0f);
  net.w().bind_and_write_data(view(fives), test_device());
  EXPECT_EQ(read(net.w()), fives);
}

TEST(Verify, SmallerBatchesAndInferenceAreCheckedToo) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), verified());
  t.execute(net.inputs, net.labels, {}, {.batch_size = 2}).wait();
  t.execute(net.inputs, {}, {}, {.forward_for_inference = true}).wait();
}

TEST(Verify, NamesTheFirstTensorThatDiffers) {
  // The null device computes zeros.
  Linear net;
  TrainingGraph t =
      net.train(sgd(0.1f), verified_by(Device::cpu()), Device::null());
  const ErrorInfo error =
      error_of<DeviceError>([&] { t.execute(net.inputs, net.labels).wait(); });
  EXPECT_EQ(error.op, "verify");
  EXPECT_EQ(error.node, "dense");
  EXPECT_NE(error.what.find("forward tensor"), std::string::npos) << error.what;
  EXPECT_EQ(error.got, "0");
  EXPECT_NE(std::stod(error.expected), 0);
}

TEST(Verify, OtherExecutionsGoOnAfterADisagreement) {
  Linear net;
  TrainingGraph t =
      net.train(sgd(0.1f), verified_by(Device::cpu()), Device::null());
  EXPECT_THROW(t.execute(net.inputs, net.labels).wait(), DeviceError);
  EXPECT_THROW(t.execute(net.inputs, net.labels).wait(), DeviceError);
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
}

TEST(Verify, RefusesABadTolerance) {
  Linear net;
  for (double tolerance : {-1.0, std::nan("")}) {
    const ErrorInfo error = error_of<InvalidArgument>(
        [&] { net.train(sgd(0.1f), verified(tolerance)); });
    EXPECT_EQ(error.node, "verify_tolerance");
  }
}

}  // namespace
}  // namespace traingraph
