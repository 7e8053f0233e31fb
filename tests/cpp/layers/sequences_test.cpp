// SPDX-License-Identifier: MIT
// Chains: Graph::sequence, Sequential, Flatten.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

using namespace layers;

Tensor input(Shape shape) { return Tensor(TensorDescriptor{shape}); }

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& e) {
    return e.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

TEST(Sequences, OfLayersAndFunctions) {
  Graph graph;
  const Tensor y = graph.sequence(
      input({2, 1, 8, 8}),
      {std::make_shared<Convolution>(4, 3), std::make_shared<ReLU>(),
       [&](const Tensor& x) { return graph.reshape({2, -1}, x); },
       std::make_shared<FullyConnected>(10)});
  EXPECT_EQ(y.shape(), (Shape{2, 10}));
  EXPECT_EQ(graph.layers().size(), 4u);
  const Tensor x = input({2, 3});
  EXPECT_EQ(graph.sequence(x, {}), x);
}

TEST(Sequences, FlattenKeepsTheBatch) {
  Graph graph;
  const auto shape = [&](Shape source) {
    return graph.node(std::make_shared<Flatten>(), input(source)).shape();
  };
  EXPECT_EQ(shape({2, 3, 4, 5}), (Shape{2, 60}));
  EXPECT_EQ(shape({2, 3}), (Shape{2, 3}));
  EXPECT_EQ(shape({2}), (Shape{2, 1}));
  EXPECT_THROW(
      graph.node(std::make_shared<Flatten>(), {input({2}), input({2})}),
      InvalidArgument);
}

TEST(Sequences, SequentialIsItsLayers) {
  const auto first = std::make_shared<FullyConnected>(5);
  const auto relu = std::make_shared<ReLU>();
  const auto last = std::make_shared<FullyConnected>(3);
  const auto inner =
      std::make_shared<Sequential>(std::vector<LayerPtr>{relu, last});
  const auto chain =
      std::make_shared<Sequential>(std::vector<LayerPtr>{first, inner});
  EXPECT_FALSE(chain->is_built());
  EXPECT_THROW((void)chain->parameters(), StateError);
  Graph graph;
  EXPECT_EQ(graph.node(chain, input({2, 6})).shape(), (Shape{2, 3}));
  EXPECT_TRUE(chain->is_built());
  EXPECT_EQ(chain->parameters().size(), 4u);
  EXPECT_EQ(graph.layers(), (std::vector<LayerPtr>{first, relu, last}));
  // Of a second node the layers are the same, and their parameters.
  graph.node(chain, input({2, 6}));
  EXPECT_EQ(graph.layers().size(), 3u);
  EXPECT_THROW(Sequential({}), InvalidArgument);
  EXPECT_THROW(Sequential({nullptr}), InvalidArgument);
}

TEST(Sequences, SequentialPassesSourcesAndLabels) {
  Graph graph;
  const Tensor label = input({2, 3});
  const auto chain = std::make_shared<Sequential>(std::vector<LayerPtr>{
      std::make_shared<Arithmetic>(ArithmeticOperation::Add),
      std::make_shared<losses::MeanSquaredError>()});
  EXPECT_TRUE(chain->is_loss());
  graph.node(chain, {input({2, 3}), input({2, 3})}, {.loss_labels = {label}});
  EXPECT_EQ(graph.source_tensors(*chain->layers()[1]).back(), label);
}

TEST(Sequences, ErrorsNameTheLayerAndItsPlace) {
  Graph graph;
  const auto named = std::make_shared<FullyConnected>(7, 3);
  named->set_name("own");
  const std::vector<SequenceStep> steps{std::make_shared<FullyConnected>(5),
                                        std::make_shared<ReLU>(), named};
  const ErrorInfo info =
      error_of<ShapeError>([&] { graph.sequence(input({2, 6}), steps); });
  EXPECT_EQ(info.node, "own");
  EXPECT_EQ(info.what,
            "the source does not fit the layer (layer 3 of 3 in a sequence)");
  EXPECT_EQ(info.got, "(2, 5)");
  EXPECT_EQ(graph.layers().size(), 2u);

  const auto chain = std::make_shared<Sequential>(std::vector<LayerPtr>{
      std::make_shared<ReLU>(), std::make_shared<BatchNormalization>(9)});
  const ErrorInfo nested = error_of<ShapeError>([&] {
    graph.sequence(input({2, 6}), {std::make_shared<ReLU>(), chain});
  });
  EXPECT_NE(nested.what.find("(layer 2 of 2 in a sequence) (layer 2 of 2"),
            std::string::npos)
      << nested.what;

  const ErrorInfo none = error_of<InvalidArgument>([&] {
    graph.sequence(input({2, 6}), {[](const Tensor&) { return Tensor(); }});
  });
  EXPECT_EQ(none.got, "none of layer 1 of 1");
}

}  // namespace
}  // namespace traingraph
