// SPDX-License-Identifier: MIT
// Every wrong call: the right type, before anything is enqueued, and a correct
// call afterwards works.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using losses::MeanSquaredError;

/// Checks after each test that nothing was trained by the wrong calls, and a
/// right call gives the step of a graph that saw no wrong ones.
class Errors : public ::testing::Test {
 protected:
  Errors() : t(net.train(sgd(0.1f, 0.9f))), w(host(net.w())) {}

  void TearDown() override {
    t.synchronize();
    EXPECT_EQ(read(net.w()), w);
    EXPECT_EQ(t.random_step(), 0u);
    Linear clean;
    TrainingGraph other = clean.train(sgd(0.1f, 0.9f));
    t.execute(net.inputs, net.labels).wait();
    other.execute(clean.inputs, clean.labels).wait();
    EXPECT_EQ(read(net.w()), read(clean.w()));
  }

  /// The wrong list as inputs of each call that takes one.
  template <class ErrorType>
  void expect_refused(DataList inputs, DataList labels,
                      const ExecuteOptions& options = {}) {
    EXPECT_THROW(t.execute(inputs, labels, {}, options), ErrorType);
    EXPECT_THROW(t.execute_forward(inputs, labels, {}, options), ErrorType);
    ExecuteOptions inference = options;
    inference.forward_for_inference = true;
    EXPECT_THROW(t.execute(inputs, labels, {}, inference), ErrorType);
  }

  Linear net;
  TrainingGraph t;
  Floats w;
};

TEST_F(Errors, PhasesInTheWrongOrder) {
  EXPECT_THROW(t.execute_gradient(), StateError);
  EXPECT_THROW(t.execute_optimizer_update(), StateError);
  EXPECT_THROW(t.gradients(), StateError);
  EXPECT_THROW(t.gradient(net.w()), StateError);
  const ExecuteOptions inference{.forward_for_inference = true};
  EXPECT_THROW(t.execute_gradient(inference), InvalidArgument);
  EXPECT_THROW(t.execute_optimizer_update(inference), InvalidArgument);
}

TEST_F(Errors, UnknownNames) {
  const Floats x(12, 0.0f);
  expect_refused<InvalidArgument>({{"z", view(x)}}, net.labels);
  expect_refused<InvalidArgument>({{"label", view(x)}}, net.labels);
  expect_refused<InvalidArgument>(net.inputs, {{"x", view(x)}});
  EXPECT_THROW(t.execute(net.inputs, net.labels, {{"weights", view(x)}}),
               InvalidArgument);
  EXPECT_THROW(t.bind_and_write_data({{"z", view(x)}}), InvalidArgument);
  const auto info = error_of<InvalidArgument>(
      [&] { t.execute({{"z", view(x)}}, net.labels); });
  EXPECT_EQ(info.op, "execute");
  EXPECT_EQ(info.got, "\"z\"");
  EXPECT_NE(info.expected.find("\"x\""), std::string::npos);
}

TEST_F(Errors, MissingData) {
  EXPECT_THROW(t.execute({}, net.labels), InvalidArgument);
  EXPECT_THROW(t.execute(net.inputs), InvalidArgument);
  EXPECT_THROW(t.execute_forward(), InvalidArgument);
  EXPECT_THROW(t.execute(net.inputs, net.labels, {},
                         {.skip_writing_input_data_to_device = true}),
               InvalidArgument);
  EXPECT_THROW(t.execute({}, {}, {}, {.forward_for_inference = true}),
               InvalidArgument);
  const auto info =
      error_of<InvalidArgument>([&] { t.execute(net.inputs, {}); });
  EXPECT_EQ(info.node, "label");
}

TEST_F(Errors, NoMemoryBehindTheData) {
  expect_refused<InvalidArgument>({{"x", TensorData()}}, net.labels);
}

TEST_F(Errors, ANameTwice) {
  const NamedData twice[] = {net.inputs[0], net.inputs[0]};
  expect_refused<InvalidArgument>(twice, net.labels);
}

TEST_F(Errors, ShortData) {
  const Floats x(11, 0.0f);
  expect_refused<ShapeError>({{"x", view(x)}}, net.labels);
  EXPECT_THROW(t.bind_and_write_data({{"x", view(x)}}), ShapeError);
}

TEST_F(Errors, WrongTypeAndShape) {
  TensorData data = view(net.x_data);
  data.descriptor = TensorDescriptor{{4, 3}, DataType::Int32};
  expect_refused<DTypeError>({{"x", data}}, net.labels);
  data.descriptor = TensorDescriptor{{3, 4}};
  expect_refused<ShapeError>({{"x", data}}, net.labels);
  data.descriptor = TensorDescriptor{{12}};
  expect_refused<ShapeError>({{"x", data}}, net.labels);
  data.descriptor = TensorDescriptor{{2, 3}};  // needs batch_size = 2
  expect_refused<ShapeError>({{"x", data}}, net.labels);
}

TEST_F(Errors, BatchSizes) {
  expect_refused<InvalidArgument>(net.inputs, net.labels, {.batch_size = -1});
  expect_refused<InvalidArgument>(net.inputs, net.labels, {.batch_size = 5});
  EXPECT_THROW(t.bind_and_write_data(net.inputs, {}, 5), InvalidArgument);
  EXPECT_EQ(t.compile_count(), 1);
}

TEST_F(Errors, OutputBuffers) {
  const Floats read_only(8, 0.0f);
  Floats shorter(7);
  const NamedData immutable[] = {{"y", view(read_only)}};
  const NamedData small[] = {{"y", view(shorter)}};
  const NamedData unknown[] = {{"z", view(shorter)}};
  const NamedData empty[] = {{"y", TensorData()}};
  TensorData wrong = view(shorter);
  wrong.descriptor = TensorDescriptor{{4, 2}, DataType::Int32};
  const NamedData type[] = {{"y", wrong}};
  expect_refused<InvalidArgument>(net.inputs, net.labels,
                                  {.outputs_data = immutable});
  expect_refused<ShapeError>(net.inputs, net.labels, {.outputs_data = small});
  expect_refused<InvalidArgument>(net.inputs, net.labels,
                                  {.outputs_data = unknown});
  expect_refused<ShapeError>(net.inputs, net.labels, {.outputs_data = empty});
  expect_refused<DTypeError>(net.inputs, net.labels, {.outputs_data = type});
}

TEST_F(Errors, DeclaringAfterCompile) {
  EXPECT_THROW(t.add_inputs({{"more", net.x}}), StateError);
  EXPECT_THROW(t.add_outputs({{"more", net.y}}), StateError);
  EXPECT_THROW(t.stop_gradient({net.y}), StateError);
  EXPECT_THROW(t.allocate_user_gradient(net.y), StateError);
  EXPECT_THROW(t.set_training_tensor_parameters({TensorParameter(net.x)}),
               StateError);
  EXPECT_THROW(net.graph.node(std::make_shared<layers::ReLU>(), net.y),
               StateError);
}

TEST_F(Errors, GradientsOfWhatIsNotTrained) {
  EXPECT_FALSE(t.gradient_tensor(net.y));
  EXPECT_TRUE(t.source_gradient_tensors(layers::ReLU()).empty());
  EXPECT_THROW(t.gradient_data(net.x, *net.layer), InvalidArgument);
  const Floats slot(6, 0.0f);
  const TensorData data[] = {view(slot)};
  EXPECT_THROW(t.bind_optimizer_data(data, net.x), InvalidArgument);
  const TensorData two[] = {view(slot), view(slot)};
  EXPECT_THROW(t.bind_optimizer_data(two, net.w()), InvalidArgument);
  const Floats tiny(5, 0.0f);
  const TensorData small[] = {view(tiny)};
  EXPECT_THROW(t.bind_optimizer_data(small, net.w()), ShapeError);
  EXPECT_THROW(t.compile_optimizer(nullptr), InvalidArgument);
  EXPECT_THROW(net.x.synchronize_data(), StateError);
  Floats few(5);
  EXPECT_THROW(net.w().copy_data_from_device_memory(
                   std::as_writable_bytes(std::span<float>(few))),
               ShapeError);
}

TEST_F(Errors, BindingTensorsThatAreNotRead) {
  const Tensor foreign({{4, 3}}, "foreign");
  const Floats x(12, 0.0f);
  EXPECT_THROW(
      t.bind_and_write_data({{"foreign", view(x)}}, {{"foreign", foreign}}),
      InvalidArgument);
}

/// Declarations, on graphs that are not compiled.
class Declarations : public ::testing::Test {
 protected:
  Linear net;
  TrainingGraph t{{net.graph}, std::make_shared<MeanSquaredError>(), sgd(0.1f)};
  Tensor foreign{{{4, 3}}, "foreign"};
};

TEST_F(Declarations, Names) {
  EXPECT_THROW(t.add_inputs({{"a", net.x}}, {{"a", net.label}}),
               InvalidArgument);
  t.add_inputs({{"x", net.x}});
  EXPECT_THROW(t.add_inputs({{"x", net.x}}), InvalidArgument);
  EXPECT_THROW(t.add_inputs({{"y", net.y}}), InvalidArgument);
  EXPECT_THROW(t.add_inputs({{"none", Tensor()}}), InvalidArgument);
  t.add_outputs({{"y", net.y}});
  EXPECT_THROW(t.add_outputs({{"y", net.y}}), InvalidArgument);
  EXPECT_THROW(t.add_outputs({{"z", foreign}}), InvalidArgument);
  EXPECT_THROW(t.add_outputs({{"none", Tensor()}}), InvalidArgument);
  t.add_inputs({}, {{"label", net.label}});
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
}

TEST_F(Declarations, TensorsOfAnotherGraph) {
  EXPECT_THROW(t.stop_gradient({foreign}), InvalidArgument);
  EXPECT_THROW(t.stop_gradient({Tensor()}), InvalidArgument);
  EXPECT_THROW(t.allocate_user_gradient(foreign), InvalidArgument);
  EXPECT_THROW(t.allocate_user_gradient(net.x), InvalidArgument);
  EXPECT_THROW(t.set_training_tensor_parameters({TensorParameter(foreign)}),
               InvalidArgument);
  EXPECT_THROW(t.set_training_tensor_parameters({TensorParameter(net.y)}),
               InvalidArgument);
  t.add_inputs({{"x", net.x}, {"foreign", foreign}}, {{"label", net.label}});
  const auto info =
      error_of<InvalidArgument>([&] { t.compile(test_device()); });
  EXPECT_EQ(info.node, "foreign");
  EXPECT_FALSE(t.is_compiled());
  net.graph.node(std::make_shared<layers::ReLU>(), net.y);  // still open
}

TEST_F(Declarations, UndeclaredInputs) {
  t.add_inputs({}, {{"label", net.label}});
  const auto info =
      error_of<InvalidArgument>([&] { t.compile(test_device()); });
  EXPECT_EQ(info.node, "x");
  t.add_inputs({{"x", net.x}});
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
}

TEST_F(Declarations, NothingRunsBeforeCompile) {
  t.add_inputs({{"x", net.x}}, {{"label", net.label}});
  EXPECT_THROW(t.execute(net.inputs, net.labels), StateError);
  EXPECT_THROW(t.execute_forward(net.inputs, net.labels), StateError);
  EXPECT_THROW(t.execute_gradient(), StateError);
  EXPECT_THROW(t.execute_optimizer_update(), StateError);
  EXPECT_THROW(t.compile_optimizer(sgd(0.1f)), StateError);
  EXPECT_THROW(t.bind_and_write_data(net.inputs), StateError);
  EXPECT_THROW(t.synchronize_updates(), StateError);
  EXPECT_THROW(t.gradient_tensor(net.x), StateError);
  EXPECT_THROW(t.gradients(), StateError);
  EXPECT_THROW(t.parameters(), StateError);
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
}

TEST_F(Declarations, LossNeedsOneLabel) {
  t.add_inputs({{"x", net.x}});
  EXPECT_THROW(t.compile(test_device()), InvalidArgument);
  t.add_inputs({}, {{"label", net.label}});
  t.compile(test_device());
  t.execute(net.inputs, net.labels).wait();
}

TEST_F(Declarations, LabelsOfAnotherShape) {
  const Tensor wrong({{4, 3}}, "wrong");
  t.add_inputs({{"x", net.x}}, {{"wrong", wrong}});
  EXPECT_THROW(t.compile(test_device()), ShapeError);
}

TEST(GraphErrors, NothingToCompileOrToDifferentiate) {
  TrainingGraph empty({Graph()});
  EXPECT_THROW(empty.compile(test_device()), StateError);
  Linear net;
  EXPECT_THROW(TrainingGraph({net.graph, net.graph}), InvalidArgument);
  TrainingGraph without_loss({net.graph}, nullptr, sgd(0.1f));
  without_loss.add_inputs({{"x", net.x}});
  EXPECT_THROW(without_loss.compile(test_device()), InvalidArgument);
  TrainingGraph t({net.graph});
  t.add_inputs({{"x", net.x}});
  t.compile(test_device());
  EXPECT_THROW(t.execute(net.inputs), StateError);
  t.execute_forward(net.inputs, {}).wait();
  EXPECT_THROW(t.execute_gradient(), StateError);
  t.execute(net.inputs, {}, {}, {.forward_for_inference = true}).wait();
}

TEST(GraphErrors, UpdatesNeedAnOptimizer) {
  Linear net;
  TrainingGraph t = net.train(nullptr);
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  EXPECT_THROW(t.execute_optimizer_update(), StateError);
  const Floats w = host(net.w()), b = host(net.b());
  expect_near(t.gradient_data(net.w()), net.weight_gradient(w, b));
}

TEST(GraphErrors, InferenceGraphsDoNotTrain) {
  Linear net;
  InferenceGraph g({net.graph});
  g.add_inputs({{"x", net.x}});
  EXPECT_THROW(g.execute(net.inputs), StateError);
  g.compile(test_device());
  const Floats x(11, 0.0f);
  EXPECT_THROW(g.execute({{"x", view(x)}}), ShapeError);
  EXPECT_THROW(g.execute({}), InvalidArgument);
  EXPECT_THROW(g.execute(net.inputs, net.labels, {}), InvalidArgument);
  EXPECT_THROW(g.execute(net.inputs).result().loss(), StateError);
}

TEST(GraphErrors, UnavailableDevices) {
  EXPECT_THROW(Device::ane(), DeviceError);
  EXPECT_NE(Device::reason_unavailable(DeviceType::ANE), "");
  EXPECT_EQ(Device::reason_unavailable(DeviceType::CPU), "");
}

}  // namespace
}  // namespace traingraph
