// SPDX-License-Identifier: MIT
// Names of layers and their tensors: unique in a graph, a function of the
// order of calls.
#include "layers/names.h"

#include <gtest/gtest.h>

#include "graph/tensor_state.h"
#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

using layers::BatchNormalization;
using layers::FullyConnected;
using layers::ReLU;

Tensor input(Shape shape) { return Tensor({.shape = shape}); }

std::shared_ptr<FullyConnected> dense(const std::string& label = {}) {
  auto layer = std::make_shared<FullyConnected>(4, 4);
  if (!label.empty()) layer->set_name(label);
  return layer;
}

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.info();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Names, OfClasses) {
  EXPECT_EQ(LayerNames::of_class("FullyConnected"), "fully_connected");
  EXPECT_EQ(LayerNames::of_class("ReLU"), "relu");
  EXPECT_EQ(LayerNames::of_class("ReLU6"), "relu6");
  EXPECT_EQ(LayerNames::of_class("LeakyReLU"), "leaky_relu");
  EXPECT_EQ(LayerNames::of_class("GELU"), "gelu");
  EXPECT_EQ(LayerNames::of_class("MatMul"), "matmul");
  EXPECT_EQ(LayerNames::of_class("L2NormPooling"), "l2_norm_pooling");
  EXPECT_EQ(LayerNames::of_class("SELU"), "selu");
}

TEST(Names, FollowTheLabel) {
  const auto fc = dense("fc");
  EXPECT_EQ(fc->weights().name(), "fc.weights");
  EXPECT_EQ(fc->biases().name(), "fc.biases");
  fc->set_name("head");
  EXPECT_EQ(fc->weights().name(), "head.weights");
  Graph graph;
  const Tensor y = graph.node(fc, input({2, 4}));
  EXPECT_EQ(fc->name(), "head");
  EXPECT_EQ(fc->weights().name(), "head.weights");
  EXPECT_EQ(y.name(), "head");

  const auto norm = std::make_shared<BatchNormalization>(3);
  norm->set_name("bn");
  EXPECT_EQ(norm->gamma().name(), "bn.gamma");
  EXPECT_EQ(norm->beta().name(), "bn.beta");
  EXPECT_EQ(norm->mean().name(), "bn.mean");
  EXPECT_EQ(norm->variance().name(), "bn.variance");
}

TEST(Names, WithoutALabelComeWithTheFirstNode) {
  const auto b = dense(), a = dense(), c = dense();
  EXPECT_EQ(a->name(), "fully_connected");
  EXPECT_EQ(a->weights().name(), "fully_connected.weights");
  Graph graph;
  Tensor x = graph.node(a, input({2, 4}));
  x = graph.node(b, x);
  x = graph.node(std::make_shared<ReLU>(), x);
  x = graph.node(a, x);  // once more: parameters have one name
  x = graph.node(c, x);
  EXPECT_EQ(a->weights().name(), "fully_connected.weights");
  EXPECT_EQ(b->name(), "fully_connected_2");
  EXPECT_EQ(b->weights().name(), "fully_connected_2.weights");
  EXPECT_EQ(c->biases().name(), "fully_connected_3.biases");
  EXPECT_EQ(graph.result_tensors(*a)[1].name(), "fully_connected:2");
  const auto& records = graph.state()->records;
  EXPECT_EQ(records[0].name, "fully_connected");
  EXPECT_EQ(records[3].name, "fully_connected:2");
  EXPECT_EQ(graph.state()->program.node(3).name, "fully_connected:2");
  const ValueId weights = graph.state()->value_of.at(b->weights().tensor_id());
  EXPECT_EQ(graph.state()->program.value(weights).name,
            "fully_connected_2.weights");
}

TEST(Names, OfTheSameCodeAreTheSame) {
  const auto names = [] {
    Graph graph;
    Tensor x = input({2, 4});
    std::string text;
    for (int i = 0; i < 3; ++i) {
      const auto layer = dense();
      x = graph.node(std::make_shared<ReLU>(), graph.node(layer, x));
      text += layer->weights().name() + " " + x.name() + " ";
    }
    return text;
  };
  const std::string first = names();
  EXPECT_EQ(names(), first);
}

TEST(Names, OfFailedNodesAreFree) {
  Graph graph;
  const auto failed = std::make_shared<FullyConnected>(5, 5);
  EXPECT_THROW(graph.node(failed, input({2, 4})), ShapeError);
  const auto fc = dense();
  graph.node(fc, input({2, 4}));
  EXPECT_EQ(fc->name(), "fully_connected");
  graph.node(failed, input({2, 5}));
  EXPECT_EQ(failed->weights().name(), "fully_connected_2.weights");
}

TEST(Names, TheUsersStay) {
  Tensor kernel({.shape = {4, 4}}, "kernel");
  const auto fc = std::make_shared<FullyConnected>(
      4, 4, WeightOptions{.weights = kernel, .biases = input({4})});
  fc->set_name("fc");
  EXPECT_EQ(fc->weights().name(), "kernel");
  EXPECT_EQ(fc->biases().name(), "fc.biases");  // the user gave none
  Tensor biases = fc->biases();
  biases.set_name("offsets");
  Graph graph;
  graph.node(fc, input({2, 4}));
  EXPECT_EQ(fc->weights().name(), "kernel");
  EXPECT_EQ(fc->biases().name(), "offsets");
}

TEST(Names, OfSharedTensors) {
  Graph graph;
  const auto first = dense();
  const auto tied = std::make_shared<FullyConnected>(
      4, 4, WeightOptions{.weights = first->weights()});
  graph.node(tied, input({2, 4}));  // the first in the graph names it
  EXPECT_EQ(first->weights().name(), "fully_connected.weights");
  graph.node(first, input({2, 4}));
  EXPECT_EQ(first->weights().name(), "fully_connected.weights");
  EXPECT_EQ(first->biases().name(), "fully_connected_2.biases");

  const auto fc = dense("fc");
  const auto again = std::make_shared<FullyConnected>(
      4, 4, WeightOptions{.weights = fc->weights()});
  again->set_name("again");
  graph.node(again, input({2, 4}));
  EXPECT_EQ(fc->weights().name(), "fc.weights");
  EXPECT_EQ(again->biases().name(), "again.biases");
  graph.node(fc, input({2, 4}));
  EXPECT_EQ(fc->weights().name(), "fc.weights");
}

TEST(Names, OfTensorsOfAnotherGraphPushAsideThoseOfThis) {
  const auto shared = dense();
  Graph first;
  first.node(shared, input({2, 4}));
  Graph second;
  const auto own = dense();
  const auto same =
      std::make_shared<FullyConnected>(shared->weights(), shared->biases());
  second.node(same, second.node(own, input({2, 4})));
  const std::vector graphs{second.state()};
  LayerNames::make_unique(graphs, {});
  EXPECT_EQ(shared->weights().name(), "fully_connected.weights");
  EXPECT_EQ(own->weights().name(), "fully_connected_2.weights");
  EXPECT_EQ(same->name(), "fully_connected_3");

  // A name that the user gave is not pushed aside.
  Graph third;
  third.node(dense("fully_connected"), input({2, 4}));
  EXPECT_THROW(third.node(std::make_shared<FullyConnected>(shared->weights(),
                                                           shared->biases()),
                          input({2, 4})),
               InvalidArgument);
}

TEST(Names, TwiceAreRefusedWithBothPlaces) {
  Graph graph;
  graph.node(std::make_shared<ReLU>(), input({2}));
  graph.node(dense("fc"), input({2, 4}));
  const auto relu = std::make_shared<ReLU>();
  relu->set_name("fc");
  ErrorInfo info =
      error_of<InvalidArgument>([&] { graph.node(relu, input({2})); });
  EXPECT_EQ(info.op, "node");
  EXPECT_EQ(info.node, "fc");
  EXPECT_EQ(info.got,
            "\"fc\" for node 1 (FullyConnected) and for node 2 (ReLU)");

  const auto named = [](const char* weights, const char* biases) {
    return std::make_shared<FullyConnected>(Tensor({{4, 4}}, weights),
                                            Tensor({{4}}, biases));
  };
  graph.node(named("w", "b"), input({2, 4}));
  info = error_of<InvalidArgument>(
      [&] { graph.node(named("v", "b"), input({2, 4})); });
  EXPECT_EQ(info.got,
            "\"b\" for biases of node 2 (FullyConnected) and for biases of "
            "node 3 (FullyConnected)");
  info = error_of<InvalidArgument>(
      [&] { graph.node(named("u", "u"), input({2, 4})); });
  EXPECT_EQ(info.node, "u");
  EXPECT_EQ(graph.layers().size(), 3u);
}

TEST(Names, AutomaticOnesAvoidTheOthers) {
  Graph graph;
  graph.node(dense("fully_connected"), input({2, 4}));
  graph.node(std::make_shared<FullyConnected>(
                 Tensor({{4, 4}}, "fully_connected_2.weights")),
             input({2, 4}));
  const auto fc = dense();
  graph.node(fc, input({2, 4}));
  EXPECT_EQ(graph.layers()[1]->name(), "fully_connected_2");
  EXPECT_EQ(fc->name(), "fully_connected_3");
}

TEST(Names, StandOnceInAGraph) {
  const auto fc = dense();
  {
    Graph graph;
    graph.node(fc, input({2, 4}));
    const ErrorInfo info = error_of<StateError>([&] { fc->set_name("late"); });
    EXPECT_EQ(info.node, "fully_connected");
  }
  EXPECT_NO_THROW(fc->set_name("fc"));  // its graph is gone
  EXPECT_EQ(fc->weights().name(), "fc.weights");
}

}  // namespace
}  // namespace traingraph
