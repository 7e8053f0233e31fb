// SPDX-License-Identifier: MIT
// Layers whose sizes are those of their sources: what their first node makes,
// and what is left when it fails.
#include "traingraph/layers/sized.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using namespace layers;
using MakeLayer = std::function<std::shared_ptr<Layer>()>;

Tensor input(Shape shape) { return Tensor(TensorDescriptor{shape}); }

std::vector<Tensor> inputs(const std::vector<Shape>& shapes) {
  std::vector<Tensor> result;
  for (const Shape& shape : shapes) result.push_back(input(shape));
  return result;
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

/// All that a layer and its first node have made.
struct Made {
  std::string program = {};
  std::vector<std::string> names = {};
  std::vector<std::vector<std::byte>> values = {};

  void add(const Tensor& tensor) {
    names.push_back(tensor.name());
    const auto bytes = tensor.data();
    values.emplace_back(bytes.begin(), bytes.end());
  }
  bool operator==(const Made&) const = default;
};

Made made_by(const MakeLayer& make, const std::vector<Shape>& shapes) {
  Platform::set_rng_seed(7);
  const auto layer = make();
  Graph graph;
  graph.node(layer, inputs(shapes));
  Made made{.program = graph.state()->program.to_string()};
  for (const TensorParameter& p : layer->parameters()) made.add(p.tensor());
  for (const Tensor& tensor : layer->statistics()) made.add(tensor);
  return made;
}

struct SizedCase {
  std::string name;
  MakeLayer given, inferred;
  std::vector<Shape> sources;
};
void PrintTo(const SizedCase& c, std::ostream* out) { *out << c.name; }

template <class Type, class... Args>
MakeLayer maker(Args... args) {
  return [=] { return std::make_shared<Type>(args...); };
}

std::vector<SizedCase> convolutions() {
  const auto with = [](std::int64_t inputs, auto change) {
    ConvolutionDescriptor d{.kernel_size = {3, 3},
                            .input_feature_channel_count = inputs,
                            .output_feature_channel_count = 8};
    change(d);
    return maker<Convolution>(d);
  };
  const auto both = [&](const char* name, Shape source, auto change) {
    return SizedCase{name, with(4, change), with(0, change), {source}};
  };
  using D = ConvolutionDescriptor;
  const Shape image{2, 4, 6, 6};
  return {
      {"Convolution",
       maker<Convolution>(4, 8, 3),
       maker<Convolution>(8, 3),
       {image}},
      both("Groups", image, [](D& d) { d.group_count = 2; }),
      both("Depthwise", image,
           [](D& d) { d.convolution_type = ConvolutionType::Depthwise; }),
      both("Transposed", image,
           [](D& d) { d.convolution_type = ConvolutionType::Transposed; }),
      both("Row", {2, 4, 9}, [](D& d) { d.kernel_size = {1, 3}; }),
  };
}

std::vector<SizedCase> dense_layers() {
  const auto given = maker<FullyConnected>(6, 5);
  const auto inferred = maker<FullyConnected>(5);
  return {{"FullyConnected", given, inferred, {{2, 6}}},
          {"FullyConnectedOfSequences", given, inferred, {{2, 3, 6}}},
          {"FullyConnectedOfFourAxes", given, inferred, {{2, 3, 4, 6}}},
          {"FullyConnectedOfPixels", given, inferred, {{2, 6, 1, 1}}},
          {"FullyConnectedWithoutBiases",
           maker<FullyConnected>(6, 5, WeightOptions{.uses_biases = false}),
           maker<FullyConnected>(5, WeightOptions{.uses_biases = false}),
           {{2, 6}}}};
}

std::vector<SizedCase> normalizations() {
  const LayerNormalizationOptions axes{.axes = {1, 3}};
  std::vector<SizedCase> cases{{"GroupNormalization",
                                maker<GroupNormalization>(6, 3),
                                maker<GroupNormalization>(3),
                                {{2, 6, 4, 4}}},
                               {"LayerNormalization",
                                maker<LayerNormalization>(Shape{6}),
                                maker<LayerNormalization>(),
                                {{2, 3, 6}}},
                               {"LayerNormalizationOfAxes",
                                maker<LayerNormalization>(Shape{4, 5}, axes),
                                maker<LayerNormalization>(axes),
                                {{2, 4, 3, 5}}}};
  for (const Shape& source : {Shape{2, 6}, Shape{2, 6, 5}, Shape{2, 6, 4, 4}}) {
    const std::string rank = std::to_string(source.rank());
    cases.push_back({"BatchNormalization" + rank,
                     maker<BatchNormalization>(6),
                     maker<BatchNormalization>(),
                     {source}});
    if (source.rank() == 2) continue;
    cases.push_back({"InstanceNormalization" + rank,
                     maker<InstanceNormalization>(6),
                     maker<InstanceNormalization>(),
                     {source}});
  }
  return cases;
}

std::vector<SizedCase> layers_over_sequences() {
  const Shape source{2, 5, 6};
  std::vector<SizedCase> cases{
      {"LSTM", maker<LSTM>(6, 4), maker<LSTM>(4), {source}},
      {"GRU", maker<GRU>(6, 4), maker<GRU>(4), {source}},
      {"RNN", maker<RNN>(6, 4), maker<RNN>(4), {source}}};
  const auto deep = [](std::int64_t input_size) {
    return LSTMDescriptor{.input_size = input_size,
                          .hidden_size = 4,
                          .layer_count = 2,
                          .batch_first = false,
                          .bidirectional = true};
  };
  cases.push_back(
      {"LSTMs", maker<LSTM>(deep(6)), maker<LSTM>(deep(0)), {source}});
  const auto attention = [](std::int64_t width, std::int64_t key,
                            std::int64_t value) {
    return maker<MultiheadAttention>(
        MultiheadAttentionDescriptor{.model_dimension = width, .head_count = 2},
        MultiheadAttentionOptions{.key_source_dimension = key,
                                  .value_source_dimension = value});
  };
  cases.push_back({"MultiheadAttention",
                   attention(8, 6, 4),
                   attention(0, 0, 0),
                   {{2, 5, 8}, {2, 3, 6}, {2, 3, 4}}});
  return cases;
}

std::vector<SizedCase> all_cases() {
  std::vector<SizedCase> all = convolutions();
  for (const auto& more :
       {dense_layers(), normalizations(), layers_over_sequences()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class SizedLayers : public ::testing::TestWithParam<SizedCase> {};

TEST_P(SizedLayers, InferredAreAsGiven) {
  const SizedCase& c = GetParam();
  EXPECT_FALSE(c.inferred()->is_built());
  EXPECT_TRUE(c.given()->is_built());
  const Made made = made_by(c.inferred, c.sources);
  EXPECT_FALSE(made.names.empty());
  EXPECT_EQ(made.program, made_by(c.given, c.sources).program);
  EXPECT_EQ(made, made_by(c.given, c.sources));
}

TEST_P(SizedLayers, HaveNoParametersBefore) {
  const auto layer = GetParam().inferred();
  layer->set_name("own");
  const ErrorInfo info =
      error_of<StateError>([&] { (void)layer->parameters(); });
  EXPECT_EQ(info.node, "own");
  EXPECT_EQ(info.what, "the layer has no parameters yet");
}

TEST_P(SizedLayers, AreAsBeforeWhenTheirNodeFails) {
  const SizedCase& c = GetParam();
  // What a node of so many sources of this kind fails for comes after building.
  std::vector<Shape> too_many = c.sources;
  too_many.resize(7, Shape{1});
  const MakeLayer retried = [&]() -> std::shared_ptr<Layer> {
    const auto layer = c.inferred();
    Graph graph;
    EXPECT_THROW(graph.node(layer, inputs(too_many)), Error);
    EXPECT_FALSE(layer->is_built());
    EXPECT_TRUE(graph.layers().empty());
    EXPECT_TRUE(graph.state()->program.nodes().empty());
    return layer;
  };
  EXPECT_EQ(made_by(retried, c.sources), made_by(c.given, c.sources));
}

TEST_P(SizedLayers, SecondNodesAreChecked) {
  const SizedCase& c = GetParam();
  const auto layer = c.inferred();
  Graph graph;
  graph.node(layer, inputs(c.sources));
  const auto parameters = layer->parameters();
  std::vector<Shape> wider = c.sources;
  for (std::int64_t axis = 1; axis < wider[0].rank(); ++axis) {
    wider[0][static_cast<int>(axis)] += 1;
  }
  EXPECT_THROW(graph.node(layer, inputs(wider)), ShapeError);
  EXPECT_TRUE(layer->is_built());
  graph.node(layer, inputs(c.sources));
  ASSERT_EQ(layer->parameters().size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(layer->parameters()[i].tensor(), parameters[i].tensor());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SizedLayers, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(SizedLayers, SizesAreZeroBefore) {
  const FullyConnected dense(5);
  EXPECT_EQ(dense.descriptor().input_feature_channel_count, 0);
  EXPECT_EQ(dense.descriptor().output_feature_channel_count, 5);
  EXPECT_THROW((void)dense.weights(), StateError);
  EXPECT_THROW((void)dense.weights_parameter(), StateError);
  const BatchNormalization norm;
  EXPECT_EQ(norm.feature_channel_count(), 0);
  EXPECT_THROW((void)norm.statistics(), StateError);
  EXPECT_THROW((void)norm.mean(), StateError);
  EXPECT_TRUE(LayerNormalization().normalized_shape().empty());
  EXPECT_EQ(LSTM(4).descriptor().input_size, 0);
}

TEST(SizedLayers, SizesAreTheSourcesAfter) {
  Graph graph;
  const auto dense = std::make_shared<FullyConnected>(5);
  graph.node(dense, input({2, 6}));
  EXPECT_EQ(dense->descriptor().input_feature_channel_count, 6);
  const auto lstm = std::make_shared<LSTM>(4);
  graph.node(lstm, input({2, 3, 6}));
  EXPECT_EQ(lstm->descriptor().input_size, 6);
  const auto norm = std::make_shared<LayerNormalization>(
      LayerNormalizationOptions{.axes = {-1, 1}});
  graph.node(norm, input({2, 3, 6}));
  EXPECT_EQ(norm->normalized_shape(), (Shape{6, 3}));
}

TEST(SizedLayers, RandomValuesAreDrawnInTheOrderOfNodes) {
  const auto values = [](bool is_given) {
    Platform::set_rng_seed(3);
    Graph graph;
    Tensor x = input({2, 6});
    std::vector<std::shared_ptr<FullyConnected>> layers;
    if (!is_given) {
      layers.push_back(std::make_shared<FullyConnected>(5));
      layers.push_back(std::make_shared<FullyConnected>(4));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (is_given) {
        const auto out = static_cast<std::int64_t>(5 - i);
        layers.push_back(std::make_shared<FullyConnected>(x.shape()[1], out));
      }
      x = graph.node(layers[i], x);
    }
    const Tensor& last = layers[1]->weights();
    const auto floats = last.floats();
    return std::vector<float>(floats.begin(), floats.end());
  };
  EXPECT_EQ(values(true), values(false));
}

TEST(SizedLayers, NamesAreThoseOfLayersWithSizes) {
  Graph graph;
  const auto first = std::make_shared<FullyConnected>(4);
  const auto second = std::make_shared<FullyConnected>(4);
  const Tensor taken = Tensor::filled(TensorDescriptor{{4, 4}}, 1);
  Tensor(taken).set_name("fully_connected_2.weights");
  graph.node(first, input({2, 6}));
  const auto other = std::make_shared<MatMul>();
  other->set_name("fully_connected_3");
  graph.node(other, {input({2, 4}), input({4, 4})});
  graph.node(second, input({2, 6}));
  EXPECT_EQ(first->weights().name(), "fully_connected.weights");
  EXPECT_EQ(second->name(), "fully_connected_2");
  EXPECT_EQ(second->biases().name(), "fully_connected_2.biases");
}

TEST(SizedLayers, ErrorsNameTheLayer) {
  const auto named = [](const std::shared_ptr<Layer>& layer) {
    layer->set_name("own");
    return layer;
  };
  const auto refused = [&](const std::shared_ptr<Layer>& layer, Shape shape) {
    const ErrorInfo info =
        error_of<ShapeError>([&] { Graph().node(named(layer), input(shape)); });
    EXPECT_EQ(info.node, "own");
    EXPECT_EQ(info.got, shape.to_string());
    return info.expected;
  };
  EXPECT_EQ(refused(std::make_shared<Convolution>(8, 3), {4}),
            "(N, C, H, W), or (N, C, L)");
  EXPECT_EQ(refused(std::make_shared<BatchNormalization>(), {4}),
            "(N, C, ...)");
  EXPECT_EQ(refused(std::make_shared<LSTM>(4), {2, 6}),
            "(batch, time, features)");
  EXPECT_EQ(refused(std::make_shared<FullyConnected>(4), {6}),
            "(..., 6) or (N, 6, 1, 1)");
  const ErrorInfo info = error_of<InvalidArgument>([&] {
    Graph().node(named(std::make_shared<GroupNormalization>(4)),
                 input({2, 6, 3}));
  });
  EXPECT_EQ(info.node, "own");
  EXPECT_EQ(info.expected, "a divisor of 6 channels");
}

TEST(SizedLayers, OptionsThatNeedNoSizeAreCheckedAtOnce) {
  EXPECT_THROW(Convolution(8, 0), InvalidArgument);
  EXPECT_THROW(
      Convolution(ConvolutionDescriptor{.kernel_size = {3, 3},
                                        .output_feature_channel_count = 8,
                                        .group_count = 3}),
      InvalidArgument);
  EXPECT_THROW(FullyConnected(0), InvalidArgument);
  EXPECT_THROW(GroupNormalization(0), InvalidArgument);
  EXPECT_THROW(BatchNormalization({.momentum = 2}), InvalidArgument);
  EXPECT_THROW(LSTM(0), InvalidArgument);
  EXPECT_THROW(MultiheadAttention({.head_count = 0}), InvalidArgument);
}

TEST(SizedLayers, GivenWeightsAreCheckedByTheFirstNode) {
  const auto weights = Tensor::filled(TensorDescriptor{{4, 6}}, 1);
  const auto layer =
      std::make_shared<FullyConnected>(4, WeightOptions{.weights = weights});
  Graph graph;
  const ErrorInfo info =
      error_of<ShapeError>([&] { graph.node(layer, input({2, 5})); });
  EXPECT_EQ(info.got, "(4, 6)");
  EXPECT_FALSE(layer->is_built());
  graph.node(layer, input({2, 6}));
  EXPECT_EQ(layer->weights(), weights);
}

TEST(SizedLayers, BelongToOneGraph) {
  const auto layer = std::make_shared<FullyConnected>(4);
  Graph graph;
  graph.node(layer, input({2, 6}));
  EXPECT_THROW(Graph().node(layer, input({2, 6})), InvalidArgument);
  EXPECT_TRUE(layer->is_built());
}

TEST(SizedLayers, LoraWantsABaseThatIsBuilt) {
  EXPECT_THROW(LoRA(std::make_shared<FullyConnected>(4), 2, 1), StateError);
}

}  // namespace
}  // namespace traingraph
