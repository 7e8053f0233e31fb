// SPDX-License-Identifier: MIT
// The one-shot step against the three phases, and gradients between them.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Phases, OneStepIsTheHandComputation) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.5f));
  const auto result = t.execute(net.inputs, net.labels).result();
  const Doubles g = net.prediction_gradient(w, b, net.batch);
  double loss = 0;  // g = 2 (y - t) / n, loss = sum((y - t)^2) / n
  for (double v : g) loss += v * v * g.size() / 4;
  EXPECT_NEAR(result.loss(), loss, 1e-5);
  expect_near(read(net.w()), stepped(w, net.weight_gradient(w, b), 0.5));
  expect_near(read(net.b()), stepped(b, net.bias_gradient(w, b), 0.5));
}

TEST(Phases, ThreePhasesGiveTheBitsOfOneStep) {
  Linear a, b;
  TrainingGraph step = a.train(sgd(0.1f, 0.9f));
  TrainingGraph phases = b.train(sgd(0.1f, 0.9f));
  for (int i = 0; i < 4; ++i) {
    const float loss = step.execute(a.inputs, a.labels).result().loss();
    const auto forward = phases.execute_forward(b.inputs, b.labels);
    phases.execute_gradient();
    phases.execute_optimizer_update().wait();
    EXPECT_EQ(forward.result().loss(), loss);
    EXPECT_EQ(read(a.w()), read(b.w()));
    EXPECT_EQ(read(a.b()), read(b.b()));
  }
}

TEST(Phases, StepsAndPhasesAlternateOnOneGraph) {
  Linear a, b;
  TrainingGraph step = a.train(sgd(0.1f, 0.9f));
  TrainingGraph mixed = b.train(sgd(0.1f, 0.9f));
  for (int i = 0; i < 6; ++i) {
    step.execute(a.inputs, a.labels);
    if (i % 2) {
      mixed.execute(b.inputs, b.labels);
    } else {
      mixed.execute_forward(b.inputs, b.labels);
      mixed.execute_gradient();
      mixed.execute_optimizer_update();
    }
  }
  EXPECT_EQ(read(a.w()), read(b.w()));
}

TEST(Phases, GradientsAreReadable) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  expect_near(t.gradient_data(net.w()), net.weight_gradient(w, b));
  expect_near(t.gradient_data(net.b()), net.bias_gradient(w, b));
  expect_near(t.gradient_data(net.w(), *net.layer), net.weight_gradient(w, b));
}

TEST(Phases, ViewsOfGradientsAreOneBlock) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  ASSERT_EQ(t.parameters(), (std::vector<Tensor>{net.w(), net.b()}));
  if (!has_host_views()) {
    for (const auto& info :
         {error_of<UnsupportedError>([&] { t.gradient(net.w()); }),
          error_of<UnsupportedError>([&] { t.gradients(); })}) {
      EXPECT_NE(info.hint.find("set_gradient_data()"), info.hint.npos);
    }
    return;
  }
  // The block is in parameter order.
  const auto block = t.gradients();
  EXPECT_EQ(block.data(), t.gradient(net.w()).data());
  EXPECT_GE(t.gradient(net.b()).data(),
            block.data() + net.w().shape().num_elements());
  EXPECT_LE(t.gradient(net.b()).data() + net.out, block.data() + block.size());
  EXPECT_EQ(copy(t.gradient(net.w())), t.gradient_data(net.w()));
}

TEST(Phases, GradientsThatAreSetChangeTheUpdate) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.5f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  t.set_gradient_data(net.w(), Floats(w.size(), 2));
  t.set_gradient_data(net.b(), Floats(b.size(), -1));
  EXPECT_EQ(t.gradient_data(net.b()), Floats(b.size(), -1));
  EXPECT_THROW(t.set_gradient_data(net.b(), w), ShapeError);
  EXPECT_THROW(t.set_gradient_data(net.x, w), InvalidArgument);
  t.execute_optimizer_update();
  expect_near(read(net.w()), stepped(w, Doubles(w.size(), 2), 0.5));
  expect_near(read(net.b()), stepped(b, Doubles(b.size(), -1), 0.5));
}

TEST(Phases, EditedGradientsChangeTheUpdate) {
  if (!has_host_views()) GTEST_SKIP();
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.5f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  for (float& v : t.gradient(net.w())) v = 2;
  for (float& v : t.gradient(net.b())) v = -1;
  t.execute_optimizer_update();
  expect_near(read(net.w()), stepped(w, Doubles(w.size(), 2), 0.5));
  expect_near(read(net.b()), stepped(b, Doubles(b.size(), -1), 0.5));
}

TEST(Phases, TheWholeBlockCanBeScaled) {
  if (!has_host_views()) GTEST_SKIP();
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.5f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  for (float& v : t.gradients()) v *= 3;
  t.execute_optimizer_update();
  expect_near(read(net.w()), stepped(w, net.weight_gradient(w, b), 1.5));
  expect_near(read(net.b()), stepped(b, net.bias_gradient(w, b), 1.5));
}

/// a + b: both parameters get the very same incoming gradient.
struct SharedGradient {
  SharedGradient() {
    const Floats zeros(6, 0.0f);
    a = Tensor({{2, 3}}, view(zeros), "a");
    b = Tensor({{6}}, view(zeros), "b");
    Tensor h = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
        {a, graph.reshape({2, 3}, b)});
    graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
               {h, x});
  }
  Tensor x{{{2, 3}}, "x"}, label{{{2, 3}}, "label"}, a, b;
  Graph graph;
};

TEST(Phases, ParametersWithOneIncomingGradientHaveTheirOwnView) {
  SharedGradient net;
  TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(1));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}});
  t.set_training_tensor_parameters(
      {TensorParameter(net.a), TensorParameter(net.b)});
  t.compile(test_device());
  const Floats data = random_floats(6, 1), labels(6, 0.0f);
  t.execute_forward({{"x", view(data)}}, {{"label", view(labels)}});
  t.execute_gradient();
  Doubles expected(6);
  for (int i = 0; i < 6; ++i) expected[i] = 2.0 * data[i] / 6;
  expected = computed(expected);
  expect_near(t.gradient_data(net.a), expected);
  expect_near(t.gradient_data(net.b), expected);
  t.set_gradient_data(net.a, Floats(6, 1.0f));
  expect_near(t.gradient_data(net.b), expected);
  t.set_gradient_data(net.b, Floats(6, 2.0f));
  EXPECT_EQ(t.gradient_data(net.a), Floats(6, 1.0f));
  t.execute_optimizer_update();
  EXPECT_EQ(read(net.a), computed(Floats(6, -1.0f)));
  EXPECT_EQ(read(net.b), computed(Floats(6, -2.0f)));
}

TEST(Phases, AUserGradientThatReachesAParameterUnchangedIsNotItsView) {
  SharedGradient net;
  TrainingGraph t({net.graph}, nullptr, sgd(1));
  t.add_inputs({{"x", net.x}});
  const Tensor y = net.graph.result_tensors(*net.graph.layers().back()).at(0);
  const Tensor user = t.allocate_user_gradient(y);
  t.set_training_tensor_parameters({TensorParameter(net.a)});
  t.compile(test_device());
  const Floats data(6, 0.0f), g(6, 0.5f);
  t.bind_and_write_data({{"g", view(g)}}, {{"g", user}});
  for (int i = 0; i < 2; ++i) {
    t.execute_forward({{"x", view(data)}}, {});
    t.execute_gradient();
    // What was there before stays where nothing is computed.
    const Floats expected = computes() ? g : Floats(6, float(i));
    EXPECT_EQ(t.gradient_data(net.a), expected);
    if (has_host_views()) {
      EXPECT_EQ(copy(t.gradients().first(6)), expected);
    }
    t.set_gradient_data(net.a, Floats(6, 1.0f));
    t.execute_optimizer_update();
  }
  EXPECT_EQ(read(net.a), computed(Floats(6, -2.0f)));
}

TEST(Phases, GradientsOfAnEarlierBatchSizeAreNotServed) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient().wait();
  t.execute_forward(net.inputs, net.labels, {}, {.batch_size = 2});
  EXPECT_THROW(t.gradient(net.w()), StateError);
  t.execute_gradient();
  const Floats w = read(net.w()), b = read(net.b());
  expect_near(t.gradient_data(net.w()), net.weight_gradient(w, b, 2));
  t.execute_optimizer_update();
  expect_near(read(net.w()), stepped(w, net.weight_gradient(w, b, 2), 0.1));
}

TEST(Phases, InferenceBetweenPhasesLeavesTheGradientsAlone) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  const Floats before = t.gradient_data(net.w());
  t.execute(net.inputs, {}, {}, {.forward_for_inference = true}).wait();
  EXPECT_EQ(t.gradient_data(net.w()), before);
}

}  // namespace
}  // namespace traingraph
