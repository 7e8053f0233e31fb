// SPDX-License-Identifier: MIT
// The order that linked graphs need, and gradients that nobody supplies.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using losses::MeanSquaredError;

Tensor square(unsigned seed, const char* label) {
  return Tensor({{3, 3}}, view(random_floats(9, seed)), label);
}

std::shared_ptr<layers::FullyConnected> dense(const Tensor& weights) {
  return std::make_shared<layers::FullyConnected>(weights);
}

OptimizerPtr decaying_sgd() {
  return std::make_shared<optimizers::SGD>(
      OptimizerDescriptor{.learning_rate = 0.1f,
                          .regularization_type = RegularizationType::L2,
                          .regularization_scale = 0.5f},
      0.9f);
}

/// front: x -> w -> h, and x -> unused -> side, which nobody reads.
/// back: h -> v -> loss.
struct Pair {
  explicit Pair(bool links = true) {
    h = a.node(dense(w), x);
    side = a.node(dense(unused), x);
    b.node(dense(v), h);
    front.emplace(std::vector{a}, nullptr, decaying_sgd());
    front->add_inputs({{"x", x}});
    back.emplace(std::vector{b}, std::make_shared<MeanSquaredError>(),
                 decaying_sgd());
    back->add_inputs({{"h", h}}, {{"label", label}});
    front->compile(test_device(), {.link_graphs = true});
    back->compile(test_device(), {.link_graphs = true});
    if (links) front->link({*back});
  }
  void forward() { front->execute_forward(inputs, {}); }
  void backward() {
    back->execute_forward({}, labels);
    back->execute_gradient();
  }
  void step() {
    forward();
    backward();
    front->execute_gradient();
    front->execute_optimizer_update();
    back->execute_optimizer_update();
  }
  Tensor x{{{4, 3}}, "x"}, label{{{4, 3}}, "label"}, h, side;
  Tensor w = square(1, "w"), unused = square(2, "unused"), v = square(3, "v");
  Graph a, b;
  std::optional<TrainingGraph> front, back;
  const Floats x_data = random_floats(12, 4), label_data = random_floats(12, 5);
  std::vector<NamedData> inputs{{"x", view(x_data)}};
  std::vector<NamedData> labels{{"label", view(label_data)}};
};

TEST(LinkOrder, ParametersOfAResultThatNobodyUsesAreNotTouched) {
  Pair pair;
  const Floats unused = host(pair.unused), w = host(pair.w);
  for (int i = 0; i < 3; ++i) pair.step();
  EXPECT_EQ(read(pair.unused), unused);
  EXPECT_EQ(read(pair.w) != w, computes());
}

TEST(LinkOrder, NorWithoutALink) {
  // A graph with a loss, and a side branch that may be linked but is not.
  Pair parts(/*links=*/false);
  Graph graph;
  graph.node(dense(parts.unused), parts.x);
  graph.node(dense(parts.w), parts.x);
  TrainingGraph t({graph}, std::make_shared<MeanSquaredError>(),
                  decaying_sgd());
  t.add_inputs({{"x", parts.x}}, {{"label", parts.label}});
  t.compile(test_device(), {.link_graphs = true});
  const Floats unused = host(parts.unused), w = host(parts.w);
  t.execute(parts.inputs, parts.labels);
  t.execute_forward(parts.inputs, parts.labels);
  t.execute_gradient();
  t.execute_optimizer_update();
  EXPECT_EQ(read(parts.unused), unused);
  EXPECT_EQ(read(parts.w) != w, computes());
  // Nothing at all starts a gradient in the front graph alone.
  parts.forward();
  EXPECT_THROW(parts.front->execute_gradient(), StateError);
}

TEST(LinkOrder, AfterALinkEndsItsGradientsAreMissingAgain) {
  Pair pair;
  pair.step();
  const Floats w = read(pair.w);
  pair.front->compile(test_device(), {.link_graphs = true});
  pair.forward();
  EXPECT_THROW(pair.front->execute_gradient(), StateError);
  EXPECT_EQ(read(pair.w), w);
  pair.back->compile(test_device(), {.link_graphs = true});
  pair.front->link({*pair.back});
  pair.step();
  EXPECT_EQ(read(pair.w) != w, computes());
}

TEST(LinkOrder, TheFrontRunsForwardFirst) {
  Pair pair;
  const ErrorInfo error = error_of<StateError>(
      [&] { pair.back->execute_forward({}, pair.labels); });
  EXPECT_EQ(error.node, "h");
  error_of<StateError>([&] { pair.back->execute({}, pair.labels); });
  error_of<StateError>(
      [&] { pair.back->execute({}, {}, {}, {.forward_for_inference = true}); });
  pair.step();
  // Linked again: what was computed before is not what is read.
  pair.front->link({*pair.back});
  error_of<StateError>([&] { pair.back->execute_forward({}, pair.labels); });
  pair.step();
}

TEST(LinkOrder, TheBackRunsItsGradientFirst) {
  Pair pair;
  pair.forward();
  const ErrorInfo error =
      error_of<StateError>([&] { pair.front->execute_gradient(); });
  EXPECT_EQ(error.node, pair.h.name());
  pair.back->execute_forward({}, pair.labels);
  error_of<StateError>([&] { pair.front->execute_gradient(); });
  pair.back->execute_gradient();
  pair.front->execute_gradient();
  // Each gradient is passed on once.
  pair.forward();
  error_of<StateError>([&] { pair.front->execute_gradient(); });
}

TEST(LinkOrder, AForwardBetweenEndsWhatTheBackHasSeen) {
  Pair pair;
  pair.forward();
  pair.back->execute_forward({}, pair.labels);
  pair.forward();
  const ErrorInfo error =
      error_of<StateError>([&] { pair.back->execute_gradient(); });
  EXPECT_EQ(error.node, "h");
  pair.backward();
  pair.front->execute_gradient();
}

TEST(LinkOrder, GradientsOfAnEarlierForwardAreDropped) {
  Pair pair, same;
  pair.forward();
  pair.backward();  // of results that the next line replaces
  pair.step();
  same.step();
  EXPECT_EQ(read(pair.w), read(same.w));
}

TEST(LinkOrder, DataOfALinkedInputIsRefused) {
  Pair pair;
  pair.forward();
  const Floats h(12, 1.0f);
  error_of<InvalidArgument>(
      [&] { pair.back->execute_forward({{"h", view(h)}}, pair.labels); });
  error_of<InvalidArgument>(
      [&] { pair.back->bind_and_write_data({{"h", view(h)}}); });
  pair.step();
}

TEST(LinkOrder, WhatWasBoundBeforeALinkIsThereAfterIt) {
  Pair pair(/*links=*/false);
  const Floats h = random_floats(12, 9);
  pair.back->bind_and_write_data({{"h", view(h)}});
  const float alone =
      pair.back->execute_forward({}, pair.labels).result().loss();
  pair.front->link({*pair.back});
  pair.forward();
  const float linked =
      pair.back->execute_forward({}, pair.labels).result().loss();
  EXPECT_EQ(alone != linked, computes());
  pair.back->compile(test_device(), {.link_graphs = true});
  EXPECT_EQ(pair.back->execute_forward({}, pair.labels).result().loss(), alone);
}

TEST(LinkOrder, ALossOfTheConsumerThatDoesNotReachTheInputFeedsNothing) {
  // back: the loss is of v alone, h ends in a result that nobody reads.
  Pair parts(/*links=*/false);
  Graph b;
  b.node(dense(parts.v), parts.h);
  b.node(dense(parts.unused), parts.x);
  TrainingGraph back({b}, std::make_shared<MeanSquaredError>(), nullptr);
  back.add_inputs({{"h", parts.h}, {"x", parts.x}}, {{"label", parts.label}});
  back.compile(test_device(), {.link_graphs = true});
  parts.front->link({back});
  const Floats w = host(parts.w);
  parts.forward();
  back.execute_forward(parts.inputs, parts.labels);
  back.execute_gradient();
  // Of the front's parameters only the shared one has a gradient, and that is
  // the back's.
  EXPECT_THROW(parts.front->execute_gradient(), StateError);
  EXPECT_EQ(read(parts.w), w);
}

}  // namespace
}  // namespace traingraph
