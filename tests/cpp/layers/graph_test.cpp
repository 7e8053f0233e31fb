// SPDX-License-Identifier: MIT
#include "traingraph/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "layers/dot.h"
#include "layers/graph_state.h"
#include "layers/layer_builder.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

using layers::Arithmetic;
using layers::FullyConnected;
using layers::ReLU;

Tensor input(Shape shape, DataType type = DataType::Float32) {
  return Tensor({shape, type});
}

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

/// All that a failed call must leave alone.
std::string fingerprint(const Graph& graph) {
  const GraphState& state = *graph.state();
  std::string text = state.program.to_string();
  for (const Value& value : state.program.values()) {
    text += value.name + std::to_string(static_cast<int>(value.role)) + "\n";
  }
  text += std::to_string(state.records.size()) + " " +
          std::to_string(state.tensors.size()) + " " +
          std::to_string(state.value_of.size()) + " " +
          std::to_string(state.result_names.size()) + " " +
          std::to_string(state.last_name_number.size()) + " " +
          std::to_string(state.promoted.size()) + " " +
          std::to_string(state.num_random_streams) + " " +
          std::to_string(state.random_state) + " " +
          std::to_string(state.program.position.layer);
  return text;
}

TEST(Graph, AddsNodesInOrder) {
  Graph graph;
  const Tensor x = input({4, 8});
  const auto fc = std::make_shared<FullyConnected>(8, 3);
  const auto relu = std::make_shared<ReLU>();
  const Tensor h = graph.node(fc, x);
  const Tensor y = graph.node(relu, h);
  EXPECT_EQ(y.shape(), (Shape{4, 3}));
  ASSERT_EQ(graph.layers().size(), 2u);
  EXPECT_EQ(graph.layers()[0], fc);
  EXPECT_EQ(graph.source_tensors(*relu), std::vector{h});
  EXPECT_EQ(graph.result_tensors(*relu), std::vector{y});
  EXPECT_TRUE(graph.source_tensors(ReLU()).empty());
  EXPECT_FALSE(graph.device());

  const Program& program = graph.state()->program;
  ASSERT_EQ(program.nodes().size(), 2u);
  EXPECT_EQ(program.node(0).layer, 0);
  EXPECT_EQ(program.node(1).layer, 1);
  EXPECT_EQ(program.node(0).name, "fully_connected");
  EXPECT_EQ(program.position.layer, -1);
  const ValueId weights = graph.state()->value_of.at(fc->weights().tensor_id());
  EXPECT_EQ(program.value(weights).role, Role::Variable);
  const ValueId source = graph.state()->value_of.at(x.tensor_id());
  EXPECT_EQ(program.value(source).role, Role::Input);
  EXPECT_EQ(graph.state()->tensors[program.value(source).tensor], x);
}

TEST(Graph, CopiesAreTheSameGraph) {
  Graph graph;
  Graph copy = graph;
  copy.node(std::make_shared<ReLU>(), input({2}));
  EXPECT_EQ(graph.layers().size(), 1u);
  EXPECT_TRUE(graph == copy);
  EXPECT_FALSE(graph == Graph());
}

TEST(Graph, OneLayerMayBeSeveralNodesOfOneGraph) {
  Graph graph;
  const auto fc = std::make_shared<FullyConnected>(4, 4);
  const Tensor h = graph.node(fc, input({2, 4}));
  const Tensor y = graph.node(fc, h);
  EXPECT_EQ(graph.layers().size(), 1u);
  EXPECT_EQ(graph.result_tensors(*fc), (std::vector{h, y}));
  EXPECT_EQ(h.name(), "fully_connected");
  EXPECT_EQ(y.name(), "fully_connected:2");
  // x, weights, biases, two results.
  EXPECT_EQ(graph.state()->program.values().size(), 5u);
}

TEST(Graph, ALayerBelongsToOneGraph) {
  const auto fc = std::make_shared<FullyConnected>(4, 4);
  fc->set_name("head");
  Graph other;
  {
    Graph graph;
    graph.node(fc, input({2, 4}));
    const ErrorInfo info =
        error_of<InvalidArgument>([&] { other.node(fc, input({2, 4})); });
    EXPECT_EQ(info.op, "node");
    EXPECT_EQ(info.node, "head");
    EXPECT_NE(info.hint.find("parameter"), std::string::npos);
    EXPECT_TRUE(other.layers().empty());
  }
  EXPECT_NO_THROW(other.node(fc, input({2, 4})));  // its graph is gone
}

TEST(Graph, AFailedLayerIsFree) {
  const auto relu = std::make_shared<ReLU>();
  Graph graph;
  EXPECT_THROW(graph.node(relu, std::vector<Tensor>{}), InvalidArgument);
  Graph other;
  EXPECT_NO_THROW(other.node(relu, input({2})));
}

TEST(Graph, TensorsOfOtherGraphsAreInputs) {
  Graph first, second;
  const Tensor h = first.node(std::make_shared<ReLU>(), input({2, 3}));
  second.node(std::make_shared<ReLU>(), h);
  const ValueId value = second.state()->value_of.at(h.tensor_id());
  EXPECT_EQ(second.state()->program.value(value).role, Role::Input);
}

TEST(Graph, FailedNodesChangeNothing) {
  Graph graph;
  const Tensor x = input({4, 8});
  graph.node(std::make_shared<ReLU>(), x);
  const std::string before = fingerprint(graph);
  const auto add = std::make_shared<Arithmetic>(ArithmeticOperation::Add);
  const auto fc = std::make_shared<FullyConnected>(9, 3);

  EXPECT_THROW(graph.node(add, {x, input({4, 7})}), ShapeError);
  EXPECT_THROW(graph.node(add, {x}), InvalidArgument);
  EXPECT_THROW(graph.node(add, {x, Tensor()}), InvalidArgument);
  EXPECT_THROW(graph.node(nullptr, {x}), InvalidArgument);
  EXPECT_THROW(graph.node(fc, x), ShapeError);
  EXPECT_THROW(graph.node(add, {x, input({4, 8}, DataType::Int32)}),
               DTypeError);
  EXPECT_THROW(graph.op(OpKind::Binary, ArithmeticAttrs{}, {x, input({3})}),
               ShapeError);
  EXPECT_EQ(fingerprint(graph), before);
}

/// Appends ops, asks for everything a builder gives, then fails.
class Failing : public Layer {
 public:
  explicit Failing(Tensor weights) : Layer("Failing"), weights_(weights) {}
  void lower(LayerBuilder& builder) const override {
    builder.random_state();
    builder.next_random_stream();
    builder.variable(weights_, {4, 2}, "weights");
    builder.append(OpKind::Activation, ActivationAttrs{}, {builder.source(0)});
    builder.require_sources(7, 7);
  }

 private:
  Tensor weights_;
};

TEST(Graph, ALayerThatFailsHalfWayChangesNothing) {
  Graph graph;
  const Tensor weights = input({8});
  graph.node(std::make_shared<ReLU>(), weights);  // known as an input
  const std::string before = fingerprint(graph);
  EXPECT_THROW(graph.node(std::make_shared<Failing>(weights), input({2})),
               InvalidArgument);
  EXPECT_EQ(fingerprint(graph), before);
}

TEST(Graph, FrozenGraphsTakeNoNodes) {
  Graph graph;
  graph.state()->num_compiles = 1;
  EXPECT_THROW(graph.node(std::make_shared<ReLU>(), input({2})), StateError);
  EXPECT_THROW(graph.op(OpKind::Activation, ActivationAttrs{}, {input({2})}),
               StateError);
}

TEST(Graph, LossLabelsAndWeightsFollowTheSources) {
  Graph graph;
  const Tensor y = input({4, 3}), t = input({4, 3}), w = input({4, 3});
  const auto loss =
      std::make_shared<losses::MeanSquaredError>(LossDescriptor{}, w);
  const Tensor result = graph.node(loss, y, {.loss_labels = {t}});
  EXPECT_EQ(result.shape(), (Shape{1}));
  EXPECT_EQ(graph.source_tensors(*loss), (std::vector{y, t, w}));
  const ErrorInfo info = error_of<InvalidArgument>(
      [&] { graph.node(std::make_shared<ReLU>(), y, {.loss_labels = {t}}); });
  EXPECT_EQ(info.node, "relu");
  EXPECT_THROW(graph.node(std::make_shared<losses::Huber>(), y),
               InvalidArgument);
}

TEST(Graph, RecordsDisabledUpdates) {
  Graph graph;
  graph.node(std::make_shared<FullyConnected>(2, 2), input({1, 2}),
             {.disable_update = true});
  EXPECT_TRUE(graph.state()->records[0].disable_update);
}

TEST(Graph, OpsHaveNoLayer) {
  Graph graph;
  const Tensor x = input({2, 3, 4, 4});
  const auto results = graph.op(
      OpKind::MaxPool2d, Pool2dAttrs{.kernel_size = {2, 2}, .strides = {2, 2}},
      {x}, "pool");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(results[0].name(), "pool");
  EXPECT_EQ(results[1].name(), "pool:2");
  EXPECT_EQ(graph.state()->program.node(0).layer, -1);
  // The opaque state is good for the gradient op.
  const auto gradient =
      graph.op(OpKind::MaxPool2dGradient,
               Pool2dAttrs{.kernel_size = {2, 2}, .strides = {2, 2}},
               {results[0], x, results[1]});
  EXPECT_EQ(gradient[0].shape(), x.shape());
}

TEST(Graph, OptionalInputsOfOpsMayBeEmpty) {
  Graph graph;
  const Tensor x = input({2, 3});
  const auto y =
      graph.op(OpKind::MatMul, MatMulAttrs{}, {x, input({3, 5}), Tensor()});
  EXPECT_EQ(y[0].shape(), (Shape{2, 5}));
  const Tensor mean = input({3}), variance = input({3});
  graph.op(OpKind::BatchNorm, BatchNormAttrs{},
           {x, Tensor(), Tensor(), mean, variance});
  const ValueId value = graph.state()->value_of.at(mean.tensor_id());
  EXPECT_EQ(graph.state()->program.value(value).role, Role::Variable);
}

TEST(Graph, ShapeMethods) {
  Graph graph;
  const Tensor x = input({4, 6, 5});
  EXPECT_EQ(graph.reshape({4, -1}, x).shape(), (Shape{4, 30}));
  EXPECT_EQ(graph.transpose({0, 2, 1}, x).shape(), (Shape{4, 5, 6}));
  EXPECT_EQ(graph.concatenate({x, x}).shape(), (Shape{4, 12, 5}));
  EXPECT_EQ(graph.concatenate({x}, -1).shape(), (Shape{4, 6, 5}));
  const Tensor condition = input({6, 5}, DataType::Boolean);
  EXPECT_EQ(graph.select({x, x}, condition).shape(), (Shape{4, 6, 5}));
  const auto halves = graph.split(x, 2, 2);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[0].shape(), (Shape{4, 6, 3}));
  EXPECT_EQ(halves[1].shape(), (Shape{4, 6, 2}));
  const auto parts = graph.split(x, Shape{1, 5}, 1);
  EXPECT_EQ(parts[1].shape(), (Shape{4, 5, 5}));
  EXPECT_THROW(graph.split(x, Shape{1, 4}, 1), Error);
  EXPECT_EQ(graph.split(x, 4, 1).size(), 3u);  // 2 + 2 + 2
}

TEST(Graph, SplitsIntoManyParts) {
  Graph graph;
  const Tensor x = input({2, 25});
  const auto parts = graph.split(x, 9, 1);
  ASSERT_EQ(parts.size(), 9u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(parts[i].shape(), (Shape{2, 3}));
  EXPECT_EQ(parts[8].shape(), (Shape{2, 1}));
}

/// A layer that returns its own source.
class Echo : public Layer {
 public:
  Echo() : Layer("Echo") {}
  void lower(LayerBuilder& builder) const override {
    builder.add_result(builder.source(0));
  }
};

TEST(Graph, AResultIsNeverASource) {
  Graph graph;
  const Tensor x = input({2, 3});
  const Tensor y = graph.node(std::make_shared<Echo>(), x);
  EXPECT_FALSE(x == y);
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_EQ(graph.state()->value_of.size(), 2u);
}

TEST(Graph, DotShowsLayersTensorsAndStoppedGradients) {
  Graph graph;
  Tensor x({.shape = {2, 3}}, "the \"image\"");
  const auto relu = std::make_shared<ReLU>();
  relu->set_name("act");
  const Tensor h = graph.node(relu, x);
  graph.op(OpKind::SquaredNorm, NoAttrs{}, {h}, "norm");
  const std::string text = graph.summarized_dot_description();
  EXPECT_NE(text.find("digraph"), std::string::npos);
  EXPECT_NE(text.find("label=\"act\\n(2, 3)\""), std::string::npos);
  EXPECT_NE(text.find("the \\\"image\\\""), std::string::npos);
  EXPECT_NE(text.find("n0 -> n1"), std::string::npos);
  EXPECT_EQ(text.find("dashed"), std::string::npos);
  const std::string stopped = dot_description(*graph.state(), {h.tensor_id()});
  EXPECT_NE(stopped.find("n0 -> n1 [label=\"act\", style=dashed]"),
            std::string::npos);
}

TEST(Graph, LayoutTakesSizesTooLargeToAdd) {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  const Tensor x({{1, 4, 4, 4}});
  Graph graph;
  EXPECT_EQ(graph.split(x, 4, 1).size(), 4u);
  EXPECT_THROW(graph.split(x, kHuge, 1), InvalidArgument);
  EXPECT_THROW(graph.split(x, 5, 1), InvalidArgument);
  EXPECT_THROW(
      graph.node(std::make_shared<layers::ZeroPadding>(
                     std::vector<std::int64_t>{kHuge, kHuge, kHuge, kHuge}),
                 x),
      InvalidArgument);
}

}  // namespace
}  // namespace traingraph
