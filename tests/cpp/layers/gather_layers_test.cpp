// SPDX-License-Identifier: MIT
// Gather, scatter and embedding as layers: what they lower to and refuse.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "layers/graph_state.h"
#include "traingraph/traingraph.h"

namespace traingraph {
namespace {

using namespace layers;  // NOLINT: tests

constexpr DataType kInt = DataType::Int32;

const Node& last_node(const Graph& graph) {
  return graph.state()->program.nodes().back();
}

template <class Attrs>
const Attrs& last_attrs(const Graph& graph) {
  return std::get<Attrs>(last_node(graph).attrs);
}

TEST(GatherLayer, NegativeDimensionsCountFromTheEnd) {
  Graph graph;
  const Tensor x({{4, 5, 6}}, "x"), at({{9}, kInt}, "at");
  EXPECT_EQ(graph.gather(-1, x, at).shape(), (Shape{4, 5, 9}));
  EXPECT_EQ(last_attrs<AxisAttrs>(graph).axis, 2);
  const auto layer = std::make_shared<Gather>(1);
  EXPECT_EQ(graph.node(layer, {x, at}).shape(), (Shape{4, 9, 6}));
  EXPECT_EQ(layer->axis(), 1);
  EXPECT_THROW(graph.gather(3, x, at), InvalidArgument);
  EXPECT_THROW(graph.gather(-4, x, at), InvalidArgument);
  EXPECT_THROW(graph.node(std::make_shared<Gather>(1), x), InvalidArgument);
}

TEST(ScatterLayer, TakesSourceIndicesAndWhatToCopy) {
  Graph graph;
  const Tensor x({{4, 9}}, "x"), at({{9}, kInt}, "at"), data({{4, 5}}, "data");
  EXPECT_EQ(graph.scatter(-1, x, at, data, ReductionType::Sum).shape(),
            (Shape{4, 5}));
  EXPECT_EQ(last_attrs<ScatterAttrs>(graph),
            (ScatterAttrs{1, ReductionType::Sum}));
  graph.scatter(1, x, at, data);
  EXPECT_EQ(last_attrs<ScatterAttrs>(graph), (ScatterAttrs{1}));
  EXPECT_THROW(Scatter(1, ReductionType::Mean), InvalidArgument);
  EXPECT_THROW(graph.scatter(1, data, at, x), ShapeError);
}

TEST(EmbeddingLayer, LowersToOneNode) {
  const EmbeddingDescriptor descriptor{.embedding_count = 7,
                                       .embedding_dimension = 3,
                                       .padding_index = 2,
                                       .maximum_norm = 1.5f,
                                       .p_norm = 1,
                                       .scales_gradient_by_frequency = true};
  Graph graph;
  const auto layer = std::make_shared<Embedding>(descriptor);
  const Tensor ids({{4, 5}, DataType::Int64}, "ids");
  EXPECT_EQ(graph.node(layer, ids).shape(), (Shape{4, 5, 3}));
  EXPECT_EQ(graph.state()->program.nodes().size(), 1u);
  EXPECT_EQ(last_attrs<EmbeddingAttrs>(graph),
            (EmbeddingAttrs{2, 1.5f, 1, true, true}));
  EXPECT_EQ(layer->descriptor(), descriptor);
  ASSERT_EQ(layer->parameters().size(), 1u);
  EXPECT_EQ(layer->parameters()[0].tensor(), layer->weights());
  EXPECT_EQ(layer->weights().name(), "embedding.weights");
}

TEST(EmbeddingLayer, TakesWeightsOfOtherShapes) {
  const Tensor ids({{4}, kInt}, "ids");
  const EmbeddingDescriptor plain{.embedding_count = 7,
                                  .embedding_dimension = 3};
  EmbeddingDescriptor bounded = plain;
  bounded.maximum_norm = 1;
  for (const Shape& shape :
       {Shape{7, 3}, Shape{1, 7, 1, 3}, Shape{1, 21, 1, 1}, Shape{21}}) {
    const Tensor weights = Tensor::filled({shape}, 1);
    const bool has_rows = shape.back() == 3;
    Graph graph;
    EXPECT_EQ(graph
                  .node(std::make_shared<Embedding>(
                            plain, EmbeddingOptions{.weights = weights}),
                        ids)
                  .shape(),
              (Shape{4, 3}));
    EXPECT_EQ(graph.state()->program.nodes().size(), has_rows ? 1u : 2u);
    const auto make_bounded = [&] {
      Embedding(bounded, EmbeddingOptions{.weights = weights});
    };
    if (has_rows) {
      EXPECT_NO_THROW(make_bounded());
    } else {
      EXPECT_THROW(make_bounded(), ShapeError);
    }
  }
  const Tensor wrong = Tensor::filled({{7, 4}}, 1);
  EXPECT_THROW(Embedding(plain, EmbeddingOptions{.weights = wrong}),
               ShapeError);
  const Tensor integers = Tensor::filled({{7, 3}, kInt}, 1);
  EXPECT_THROW(Embedding(plain, EmbeddingOptions{.weights = integers}),
               DTypeError);
}

TEST(EmbeddingLayer, StartsThePaddingRowWithZeros) {
  const Embedding layer(
      {.embedding_count = 50, .embedding_dimension = 8, .padding_index = 49});
  const auto values = layer.weights().floats();
  for (std::size_t i = 0; i < 49 * 8; ++i) EXPECT_NE(values[i], 0) << i;
  for (std::size_t i = 49 * 8; i < values.size(); ++i) EXPECT_EQ(values[i], 0);
}

TEST(EmbeddingLayer, RefusesOptionsOutOfRange) {
  const auto expect_refused = [](EmbeddingDescriptor changed,
                                 const std::string& word) {
    if (word != "embedding_count") changed.embedding_count = 7;
    if (word != "embedding_dimension") changed.embedding_dimension = 3;
    try {
      const Embedding layer(changed);
      ADD_FAILURE() << word << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(error.info().what.find(word), std::string::npos)
          << error.what();
    }
  };
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  expect_refused({}, "embedding_count");
  expect_refused({}, "embedding_dimension");
  expect_refused({.padding_index = 7}, "padding_index");
  expect_refused({.padding_index = -1}, "padding_index");
  expect_refused({.maximum_norm = 0.0f}, "maximum_norm");
  expect_refused({.maximum_norm = kNaN}, "maximum_norm");
  expect_refused({.maximum_norm = 1.0f, .p_norm = -1}, "p_norm");
  expect_refused({.maximum_norm = 1.0f, .p_norm = kNaN}, "p_norm");
  expect_refused({.p_norm = 1}, "p_norm");
  const EmbeddingDescriptor plain{.embedding_count = 7,
                                  .embedding_dimension = 3};
  const EmbeddingOptions both{.weights = Tensor::filled({{7, 3}}, 1),
                              .initializer = RandomInitializerType::Uniform};
  EXPECT_THROW(Embedding(plain, both), InvalidArgument);
}

TEST(GatherLayers, SayWhichTypesTheyTake) {
  const Device cpu = Device::cpu();
  for (DataType type : {DataType::Int32, DataType::Int64}) {
    EXPECT_TRUE(Gather::supports_data_type(type, cpu));
    EXPECT_TRUE(Scatter::supports_data_type(type, cpu));
    EXPECT_TRUE(Embedding::supports_data_type(type, cpu));
  }
  EXPECT_TRUE(Gather::supports_data_type(DataType::Float32, cpu));
  EXPECT_FALSE(Embedding::supports_data_type(DataType::Float32, cpu));
  EXPECT_TRUE(Gather::supports_data_type(DataType::Boolean, cpu));
}

}  // namespace
}  // namespace traingraph
