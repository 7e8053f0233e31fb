// SPDX-License-Identifier: MIT
// A value that a tensor is given after compile reaches whoever reads it.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(SetData, OfAParameterReachesTheDevice) {
  Linear net, same;
  TrainingGraph t = net.train(sgd(0.1f)), r = same.train(sgd(0.1f));
  const Floats w = random_floats(6, 20), b = random_floats(2, 21);
  t.execute(net.inputs, net.labels);  // in flight while the value is set
  net.w().set_data(view(w));
  net.b().set_data(view(b));
  EXPECT_EQ(read(net.w()), w);
  // The other graph has them before its first run.
  same.w().set_data(view(w));
  same.b().set_data(view(b));
  EXPECT_EQ(t.execute(net.inputs, net.labels).result().loss(),
            r.execute(same.inputs, same.labels).result().loss());
  EXPECT_EQ(read(net.w()), read(same.w()));
  t.synchronize_updates();
  EXPECT_EQ(host(net.w()), read(net.w()));
}

TEST(SetData, AllocatesNothingBeforeTheFirstRun) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  const Floats w = random_floats(6, 20);
  net.w().set_data(view(w));
  net.w().bind_and_write_data(view(w), test_device());
  EXPECT_EQ(t.memory().allocated_bytes, 0u);
  EXPECT_EQ(read(net.w()), w);
}

TEST(SetData, IsOneOfTheDevicesTurns) {
  Linear net, same;
  TrainingGraph t = net.train(sgd(0.1f)), r = same.train(sgd(0.1f));
  for (unsigned i = 0; i < 20; ++i) {
    const Floats w = random_floats(6, i);
    t.execute(net.inputs, net.labels);
    t.execute(net.inputs, net.labels);
    r.execute(same.inputs, same.labels).wait();
    r.execute(same.inputs, same.labels).wait();
    net.w().set_data(view(w));
    same.w().set_data(view(w));
  }
  t.execute(net.inputs, net.labels);
  r.execute(same.inputs, same.labels);
  EXPECT_EQ(read(net.w()), read(same.w()));
  EXPECT_EQ(read(net.b()), read(same.b()));
}

TEST(SetData, ANamedDeviceIsNoOtherCopy) {
  Linear net;
  const Floats w = random_floats(6, 20);
  {
    TrainingGraph t = net.train(sgd(0.1f));
    t.execute(net.inputs, net.labels).wait();
    net.w().bind_and_write_data(view(w), other_device());
    EXPECT_EQ(read(net.w()), w);
  }
  TrainingGraph t = net.train(sgd(0.1f), {}, other_device());
  EXPECT_EQ(read(net.w()), w);
}

TEST(SetData, OfRunningStatistics) {
  const Tensor x({{2, 3}}, "x");
  Graph graph;
  const auto norm = std::make_shared<layers::BatchNormalization>(
      3, BatchNormalizationOptions{.variance_epsilon = 1e-12f});
  const Tensor y = graph.node(norm, x);
  InferenceGraph g({graph});
  g.add_inputs({{"x", x}});
  g.add_outputs({{"y", y}});
  g.compile(test_device());
  const Floats data(6, 5.0f), mean(3, 2.0f), variance(3, 9.0f);
  const auto run = [&] {
    return floats_of(g.execute({{"x", view(data)}}).result().output("y"));
  };
  expect_near(run(), computed(Floats(6, 5.0f)));
  norm->mean().set_data(view(mean));
  norm->variance().set_data(view(variance));
  expect_near(run(), computed(Floats(6, 1.0f)));
}

/// y = x + constant, as InferenceGraph.
struct Sum {
  Sum() {
    y = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
        {x, constant});
    // Seen on devices that compute nothing as well.
    g.emplace(std::vector{graph});
  }
  Floats run() { return floats_of(g->execute({}).result().output("constant")); }
  Tensor x = Tensor::filled({{2}}, 1, "x");
  Tensor constant = Tensor::filled({{2}}, 1, "constant");
  Tensor y;
  Graph graph;
  std::optional<InferenceGraph> g;
};

TEST(SetData, OfConstants) {
  for (bool is_declared : {false, true}) {
    SCOPED_TRACE(is_declared);
    Sum sum;
    sum.g->add_outputs({{"constant", sum.constant}, {"y", sum.y}});
    TensorMap constants;
    if (is_declared) {
      sum.g->add_inputs({{"constant", sum.constant}});
      constants = {{"constant", sum.constant}};
    }
    sum.g->compile(test_device(), {}, constants);
    EXPECT_EQ(sum.run(), Floats(2, 1.0f));
    for (float value : {3.0f, 4.0f}) {
      const Floats values(2, value);
      sum.constant.set_data(view(values));
      EXPECT_EQ(sum.run(), values);
      EXPECT_EQ(sum.run(), values);
      EXPECT_EQ(floats_of(sum.g->execute({}).result().output("y")),
                computed(Floats(2, 1 + value)));
    }
  }
}

TEST(SetData, OfTrainedInputsAndUserGradients) {
  const Tensor p = Tensor::filled({{4, 1}}, 1, "p");
  const Tensor x = Tensor::filled({{4, 1}}, 0, "x");
  Graph graph;
  const Tensor y = graph.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {p, x});
  TrainingGraph t({graph}, nullptr, sgd(0.5f));
  t.add_inputs({{"p", p}});
  const Tensor user = t.allocate_user_gradient(y);
  t.set_training_tensor_parameters({TensorParameter(p)});
  t.compile(test_device());
  const Floats two(4, 2.0f), three(4, 3.0f);
  EXPECT_EQ(error_of<InvalidArgument>([&] { t.execute({}); }).node,
            user.name());
  user.set_data(view(two));
  t.execute({});
  EXPECT_EQ(read(p), computes() ? Floats(4, 0.0f) : Floats(4, 1.0f));
  t.bind_and_write_data({{"g", view(three)}}, {{"g", user}});
  p.set_data(view(two));
  t.execute({});
  EXPECT_EQ(read(p), computes() ? Floats(4, 0.5f) : Floats(4, 2.0f));
  user.set_data(view(two));
  t.execute({});
  EXPECT_EQ(read(p), computes() ? Floats(4, -0.5f) : Floats(4, 2.0f));
  // Its value is no input of a call.
  const auto error =
      error_of<InvalidArgument>([&] { t.execute({{"p", view(two)}}); });
  EXPECT_NE(error.hint.find("set_data"), std::string::npos);
}

TEST(SetData, OfOptimizerBuffers) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  t.execute(net.inputs, net.labels).wait();
  const Floats zeros(6), ones(6, 1.0f);
  const TensorData momentum[] = {view(ones)};
  net.w().bind_optimizer_data(momentum);
  net.w().synchronize_optimizer_data();
  const OptimizerData slot = net.w().optimizer_data().at(0);
  EXPECT_EQ(Floats(reinterpret_cast<const float*>(slot.data.data()),
                   reinterpret_cast<const float*>(slot.data.data()) + 6),
            ones);
}

TEST(SetData, OfResultsIsRefused) {
  Linear net;
  const Floats values(8, 1.0f);
  error_of<StateError>([&] { net.y.set_data(view(values)); });
  TrainingGraph t = net.train(sgd(0.1f), {.compute_all_gradients = true});
  t.execute(net.inputs, net.labels).wait();
  const Floats y = read(net.y);
  error_of<StateError>(
      [&] { net.y.bind_and_write_data(view(values), test_device()); });
  EXPECT_EQ(read(net.y), y);
  error_of<StateError>(
      [&] { t.gradient_tensor(net.x).set_data(view(net.x_data)); });
}

TEST(Settings, IsUpdatableAfterCompileIsRefusedUntilCompiledAgain) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.9f));
  t.execute(net.inputs, net.labels).wait();
  TensorParameter parameter = net.layer->weights_parameter();
  parameter.set_updatable(false);
  const ErrorInfo error =
      error_of<StateError>([&] { t.execute(net.inputs, net.labels); });
  EXPECT_EQ(error.node, "w");
  EXPECT_NE(error.hint.find("compile()"), std::string::npos);
  t.execute_forward(net.inputs, net.labels);
  error_of<StateError>([&] { t.execute_gradient(); });
  t.execute(net.inputs, {}, {}, {.forward_for_inference = true});
  parameter.set_updatable(true);
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  parameter.set_updatable(false);
  error_of<StateError>([&] { t.execute_optimizer_update(); });
  const Floats w = read(net.w()), b = read(net.b());
  t.compile(test_device());
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(read(net.w()), w);
  EXPECT_EQ(read(net.b()) != b, computes());
}

TEST(Settings, IsDebuggingEnabledAfterCompileIsRefused) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), {.debug_layers = true});
  t.execute(net.inputs, net.labels).wait();
  net.layer->is_debugging_enabled = true;
  const ErrorInfo error =
      error_of<StateError>([&] { t.execute(net.inputs, net.labels); });
  EXPECT_EQ(error.node, "dense");
  t.compile(test_device(), {.debug_layers = true});
  t.execute(net.inputs, net.labels).wait();
  EXPECT_EQ(t.source_gradient_tensors(*net.layer).size(), 1u);
}

TEST(Settings, OfOptimizersTakeEffectAtTheNextUpdate) {
  Linear net;
  const auto optimizer = std::make_shared<optimizers::SGD>(OptimizerDescriptor{
      .learning_rate = 0.5f,
      .applies_gradient_clipping = false,
      .gradient_clipping_type = GradientClippingType::ByValue,
      .gradient_clip_max = 0.0f,
      .gradient_clip_min = 0.0f});
  TrainingGraph t = net.train(optimizer);
  t.execute(net.inputs, net.labels).wait();
  Floats w = read(net.w()), b = read(net.b());
  optimizer->set_applies_gradient_clipping(true);  // to zero
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(read(net.w()), w);
  optimizer->set_applies_gradient_clipping(false);
  optimizer->set_learning_rate(0.25f);
  t.execute(net.inputs, net.labels);
  expect_near(read(net.w()), stepped(w, net.weight_gradient(w, b), 0.25));
  optimizer->set_time_step(7);
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(optimizer->time_step(), 8u);
  t.set_random_step(11);
  t.execute(net.inputs, net.labels);
  EXPECT_EQ(t.random_step(), 12u);
}

}  // namespace
}  // namespace traingraph
