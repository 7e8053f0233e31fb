// SPDX-License-Identifier: MIT
// Inference graphs that share parameters with a training graph.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

InferenceGraph inference(const Linear& net) {
  InferenceGraph g({net.graph});
  g.add_inputs({{"x", net.x}});
  g.compile(test_device());
  return g;
}

class SharedParameters : public ::testing::TestWithParam<bool> {};

TEST_P(SharedParameters, InferenceSeesEveryUpdate) {
  const bool inference_first = GetParam();
  Linear net;
  std::optional<InferenceGraph> g;
  if (inference_first) g = inference(net);
  TrainingGraph t = net.train(sgd(0.1f));
  if (!inference_first) g = inference(net);
  const auto& borrower = inference_first ? t.memory() : g->memory();
  EXPECT_EQ(borrower.parameter_bytes, 0u);
  EXPECT_EQ(borrower.shared_bytes, (6 + 2) * sizeof(float));
  for (int i = 0; i < 3; ++i) {
    const Floats y = floats_of(*g->execute(net.inputs).result().result());
    const auto step = t.execute(net.inputs, net.labels).result();
    EXPECT_EQ(y, floats_of(step.output("y")));
  }
  // Queued without waiting: the order of calls is the order of effects.
  const auto step = t.execute(net.inputs, net.labels);
  const auto after = g->execute(net.inputs);
  const auto next = t.execute(net.inputs, net.labels);
  EXPECT_EQ(floats_of(*after.result().result()),
            floats_of(next.result().output("y")));
}

INSTANTIATE_TEST_SUITE_P(EitherOrder, SharedParameters, ::testing::Bool());

TEST(Inference, ParametersOutliveTheGraphThatPlacedThem) {
  Linear net;
  std::optional<InferenceGraph> g;
  Floats y;
  {
    TrainingGraph t = net.train(sgd(0.1f));
    g = inference(net);
    t.execute(net.inputs, net.labels);
    y = floats_of(t.execute(net.inputs, net.labels).result().output("y"));
    t.execute(net.inputs, net.labels, {}, {.forward_for_inference = true});
  }
  const Floats next = floats_of(*g->execute(net.inputs).result().result());
  EXPECT_EQ(next != y, computes());
}

TEST(Inference, OwnNodesAndNewParameterValues) {
  Linear net;
  InferenceGraph g({net.graph});
  const Tensor p = g.node(std::make_shared<layers::Softmax>(), net.y);
  g.add_inputs({{"x", net.x}});
  g.add_outputs({{"p", p}});
  g.compile(test_device());
  Floats values = floats_of(g.execute(net.inputs).result().output("p"));
  EXPECT_NEAR(values[0] + values[1], computes() ? 1 : 0, 1e-6);
  const Floats zeros(6, 0.0f);
  net.w().bind_and_write_data(view(zeros), test_device());
  net.b().bind_and_write_data(view(Floats(2, 0.0f)), test_device());
  values = floats_of(g.execute(net.inputs).result().output("p"));
  EXPECT_EQ(values, computed(Floats(8, 0.5f)));
}

TEST(Inference, DropoutAndStatisticsAreInInferenceForm) {
  const Tensor x({{4, 3}}, "x");
  Graph graph;
  Tensor h = graph.node(std::make_shared<layers::Dropout>(0.5f), x);
  const auto norm = std::make_shared<layers::BatchNormalization>(3);
  graph.node(norm, h);
  InferenceGraph g({graph});
  g.add_inputs({{"x", x}});
  g.compile(test_device());
  const Floats data = random_floats(12, 1);
  const Floats y = floats_of(*g.execute({{"x", view(data)}}).result().result());
  expect_near(y, computed(data), 1e-4);  // running mean 0, variance 1
  EXPECT_EQ(read(norm->mean()), Floats(3, 0.0f));
}

TEST(Inference, DropoutIsAFunctionOfTheStep) {
  const Tensor x({{16, 8}}, "x");
  Graph graph;
  const Tensor y = graph.node(std::make_shared<layers::Dropout>(0.5f, 7), x);
  TrainingGraph t({graph});
  t.allocate_user_gradient(y);
  t.add_inputs({{"x", x}});
  t.compile(test_device());
  const Floats ones(128, 1.0f);
  const auto run = [&] {
    return floats_of(
        *t.execute_forward({{"x", view(ones)}}, {}).result().result());
  };
  EXPECT_EQ(t.random_step(), 0u);
  const Floats first = run(), second = run();
  EXPECT_EQ(first != second, computes());
  EXPECT_EQ(t.random_step(), 2u);
  for (float v : first) EXPECT_TRUE(v == 0 || v == 2);
  t.set_random_step(0);
  EXPECT_EQ(run(), first);
}

}  // namespace
}  // namespace traingraph
