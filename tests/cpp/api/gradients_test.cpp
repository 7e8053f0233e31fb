// SPDX-License-Identifier: MIT
// What is differentiated and what is updated: stops, freezes, constants, user
// gradients, input gradients, several losses, weights.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using layers::FullyConnected;
using losses::MeanSquaredError;

/// x -> a -> tanh -> b -> y
struct TwoLayers {
  explicit TwoLayers(const NodeOptions& first = {}) {
    a = std::make_shared<FullyConnected>(parameter({5, 3}, 1),
                                         parameter({5}, 2));
    b = std::make_shared<FullyConnected>(parameter({2, 5}, 3),
                                         parameter({2}, 4));
    h = graph.node(std::make_shared<layers::Tanh>(), graph.node(a, x, first));
    y = graph.node(b, h);
  }
  static Tensor parameter(Shape shape, unsigned seed) {
    const Floats values = random_floats(shape.num_elements(), seed);
    return Tensor({shape}, view(values));
  }
  TrainingGraph declared(OptimizerPtr optimizer = sgd(0.1f)) {
    TrainingGraph t({graph}, std::make_shared<MeanSquaredError>(),
                    std::move(optimizer));
    t.add_inputs({{"x", x}}, {{"label", label}});
    return t;
  }

  Tensor x{{{4, 3}}, "x"}, label{{{4, 2}}, "label"}, h, y;
  Graph graph;
  std::shared_ptr<FullyConnected> a, b;
  Floats x_data = random_floats(12, 5), label_data = random_floats(8, 6);
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label_data))}};
};

void expect_only_second_moves(TwoLayers& net, TrainingGraph& t) {
  const Floats a = host(net.a->weights()), b = host(net.b->weights());
  for (int i = 0; i < 2; ++i) t.execute(net.inputs, net.labels);
  t.synchronize_updates();
  EXPECT_EQ(host(net.a->weights()), a);
  EXPECT_EQ(host(net.b->weights()) != b, computes());
}

TEST(Gradients, StopGradientCutsThePath) {
  TwoLayers net;
  TrainingGraph t = net.declared();
  t.stop_gradient({net.h});
  t.compile(test_device());
  EXPECT_EQ(t.parameters(),
            (std::vector<Tensor>{net.b->weights(), net.b->biases()}));
  expect_only_second_moves(net, t);
}

TEST(Gradients, DisableUpdateSkipsTheLayerInThisGraph) {
  TwoLayers net({.disable_update = true});
  TrainingGraph t = net.declared();
  t.compile(test_device());
  expect_only_second_moves(net, t);
}

TEST(Gradients, FrozenParametersStay) {
  TwoLayers net;
  net.a->weights_parameter().set_updatable(false);
  TrainingGraph t = net.declared();
  t.compile(test_device());
  EXPECT_EQ(t.parameters().size(), 3u);
  const Floats biases = host(net.a->biases());
  expect_only_second_moves(net, t);
  EXPECT_EQ(read(net.a->biases()) != biases, computes());
}

TEST(Gradients, ConstantsAreFixedAtCompile) {
  TwoLayers net, reference;
  TrainingGraph t = net.declared();
  t.compile(test_device(), {}, {{"x", net.x}}, net.inputs);
  EXPECT_GT(t.memory().constant_bytes, 0u);
  TrainingGraph r = reference.declared();
  r.compile(test_device());
  for (int i = 0; i < 3; ++i) {
    t.execute({}, net.labels);
    r.execute(reference.inputs, reference.labels);
  }
  EXPECT_EQ(read(net.a->weights()), read(reference.a->weights()));
  EXPECT_THROW(t.execute(net.inputs, net.labels), InvalidArgument);
  t.execute({}, net.labels).wait();
}

TEST(Gradients, AFailedCompileLeavesTheGraphAsItWas) {
  TwoLayers net;
  TrainingGraph t = net.declared();
  t.compile(test_device());
  const float loss = t.execute(net.inputs, net.labels).result().loss();
  const Tensor foreign({{4, 3}}, view(net.x_data), "foreign");
  EXPECT_THROW(t.compile(test_device(), {}, {}, net.inputs), InvalidArgument);
  EXPECT_THROW(t.compile(test_device(), {}, {{"f", foreign}}), InvalidArgument);
  EXPECT_THROW(t.compile(test_device(), {}, {{"f", Tensor()}}),
               InvalidArgument);
  EXPECT_THROW(t.compile(test_device(), {}, {{"x", net.x}}), InvalidArgument);
  EXPECT_EQ(t.compile_count(), 1);
  const float next = t.execute(net.inputs, net.labels).result().loss();
  EXPECT_EQ(next < loss, computes());
}

TEST(Gradients, UserGradientsEqualTheUnsplitNetwork) {
  TwoLayers whole, split;
  TrainingGraph r = whole.declared();
  r.compile(test_device());
  TrainingGraph t({split.graph}, nullptr, sgd(0.1f));
  t.add_inputs({{"x", split.x}});
  t.add_outputs({{"y", split.y}});
  const Tensor user = t.allocate_user_gradient(split.y);
  EXPECT_EQ(t.allocate_user_gradient(split.y), user);
  t.compile(test_device());
  for (int step = 0; step < 3; ++step) {
    r.execute(whole.inputs, whole.labels);
    const auto forward = t.execute_forward(split.inputs, {}).result();
    Floats g = floats_of(forward.output("y"));
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] = 2 * (g[i] - split.label_data[i]) / 8;
    }
    t.bind_and_write_data({{"g", view(g)}}, {{"g", user}});
    t.execute_gradient();
    t.execute_optimizer_update();
    expect_near(read(split.a->weights()), read(whole.a->weights()));
    expect_near(read(split.b->biases()), read(whole.b->biases()));
  }
}

TEST(Gradients, AUserGradientAddsToTheLoss) {
  TwoLayers net, plain;
  TrainingGraph t = net.declared(), r = plain.declared();
  const Tensor user = t.allocate_user_gradient(net.y);
  t.compile(test_device());
  r.compile(test_device());
  const Floats ones(8, 1.0f);
  t.bind_and_write_data({{"g", view(ones)}}, {{"g", user}});
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  r.execute_forward(plain.inputs, plain.labels);
  r.execute_gradient();
  Floats expected = r.gradient_data(plain.b->biases());
  for (float& v : expected) v += computes() ? 4 : 0;  // one per row
  expect_near(t.gradient_data(net.b->biases()), expected);
}

TEST(Gradients, InputGradients) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.0f), {.compute_all_gradients = true});
  const Doubles g = net.prediction_gradient(w, b, net.batch);
  Doubles expected(net.batch * net.in);
  for (std::int64_t n = 0; n < net.batch; ++n) {
    for (std::int64_t i = 0; i < net.in; ++i) {
      for (std::int64_t o = 0; o < net.out; ++o) {
        expected[n * net.in + i] += g[n * net.out + o] * w[o * net.in + i];
      }
    }
  }
  const Tensor gradient = t.gradient_tensor(net.x);
  ASSERT_TRUE(gradient);
  t.execute(net.inputs, net.labels);
  expect_near(read(gradient), expected);
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  gradient.synchronize_data();
  expect_near(host(gradient), expected);
  EXPECT_EQ(t.outgoing_gradients(*net.layer), std::vector{gradient});
  EXPECT_EQ(t.result_gradient_tensors(*net.layer), std::vector{gradient});
  EXPECT_FALSE(t.gradient_tensor(net.y));

  Linear other;
  EXPECT_FALSE(other.train(sgd(0.1f)).gradient_tensor(other.x));
}

TEST(Gradients, DebuggedLayersAreReadable) {
  TwoLayers net, plain;
  net.a->is_debugging_enabled = true;
  TrainingGraph t = net.declared(), r = plain.declared();
  t.compile(test_device(), {.debug_layers = true});
  r.compile(test_device());
  const Floats before = host(plain.a->biases());
  t.execute(net.inputs, net.labels);
  r.execute(plain.inputs, plain.labels);
  // Fused, the gradient of tanh follows from its result, and may round
  // otherwise.
  expect_near(read(net.a->weights()), read(plain.a->weights()));
  const Tensor result = net.graph.result_tensors(*net.a).at(0);
  result.synchronize_data();
  EXPECT_TRUE(result.has_valid_numerics());
  const auto gradients = t.source_gradient_tensors(*net.a);
  ASSERT_EQ(gradients.size(), 1u);
  const Floats g = read(gradients[0]);
  // d bias is the sum of the incoming gradient over the batch.
  const Floats after = host(plain.a->biases());
  for (int o = 0; o < 5; ++o) {
    double sum = 0;
    for (int n = 0; n < 4; ++n) sum += g[n * 5 + o];
    EXPECT_NEAR(before[o] - after[o], 0.1 * sum, 1e-5);
  }
  EXPECT_TRUE(t.source_gradient_tensors(*net.b).empty());
}

TEST(Gradients, TrainedInputsAreUpdated) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b()), x = net.x_data;
  net.x.set_data(view(x));
  TrainingGraph t({net.graph}, std::make_shared<MeanSquaredError>(),
                  sgd(0.5f, 0.9f));
  t.add_inputs({}, {{"label", net.label}});
  t.set_training_tensor_parameters({TensorParameter(net.x)});
  t.compile(test_device());
  EXPECT_EQ(t.parameters().back(), net.x);
  t.execute_forward({}, net.labels);
  t.execute_gradient();
  const Floats g = t.gradient_data(net.x);
  t.execute_optimizer_update();
  expect_near(read(net.x), stepped(x, Doubles(g.begin(), g.end()), 0.5));
  EXPECT_EQ(net.x.optimizer_data().size(), 1u);
  net.x.synchronize_optimizer_data();
  t.synchronize_updates();
  EXPECT_EQ(host(net.x), read(net.x));
}

TEST(Gradients, SeveralLossNodesAddUp) {
  // mse(y, t) + 3 * mse(y, t) has the gradient of 4 * mse.
  TwoLayers net, plain;
  const auto loss = std::make_shared<MeanSquaredError>();
  const auto triple =
      std::make_shared<MeanSquaredError>(LossDescriptor{.weight = 3});
  net.graph.node(loss, net.y, {.loss_labels = {net.label}});
  net.graph.node(triple, net.y, {.loss_labels = {net.label}});
  TrainingGraph t({net.graph}, nullptr, sgd(0.1f));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}});
  t.compile(test_device());
  TrainingGraph r = plain.declared(sgd(0.4f));
  r.compile(test_device());
  for (int i = 0; i < 3; ++i) {
    const float sum = t.execute(net.inputs, net.labels).result().loss();
    const float once = r.execute(plain.inputs, plain.labels).result().loss();
    EXPECT_NEAR(sum, 4 * once, 1e-5);
  }
  expect_near(read(net.a->weights()), read(plain.a->weights()));
}

TEST(Gradients, LabelWeightsScaleTheSamples) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  const Tensor weights({{4, 1}}, "weights");
  TrainingGraph t({net.graph}, std::make_shared<MeanSquaredError>(), sgd(1));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}}, {{"weights", weights}});
  t.compile(test_device());
  const Floats factors{1, 0, 2, 0.5f};
  t.execute(net.inputs, net.labels, {{"weights", view(factors)}});
  const Doubles g = net.prediction_gradient(w, b, 4);
  Doubles expected(2);
  for (int i = 0; i < 8; ++i) expected[i % 2] += g[i] * factors[i / 2];
  expect_near(read(net.b()), stepped(b, expected, 1));
}

TEST(Gradients, SynchronizeUpdatesBringsParametersAndStatisticsToTheHost) {
  const Tensor x({{8, 3}}, "x"), label({{8, 3}}, "label");
  Graph graph;
  const auto norm = std::make_shared<layers::BatchNormalization>(
      3, BatchNormalizationOptions{.momentum = 0.5f});
  graph.node(norm, x);
  TrainingGraph t({graph}, std::make_shared<MeanSquaredError>(), sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.compile(test_device());
  const Floats data = random_floats(24, 1), labels = random_floats(24, 2);
  t.execute({{"x", view(data)}}, {{"label", view(labels)}});
  t.synchronize_updates();
  Doubles mean(3);
  for (int i = 0; i < 24; ++i) mean[i % 3] += 0.5 * data[i] / 8;
  expect_near(host(norm->mean()), computed(mean));
  EXPECT_EQ(host(norm->beta()) != Floats(3, 0.0f), computes());
}

}  // namespace
}  // namespace traingraph
