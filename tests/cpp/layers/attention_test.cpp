// SPDX-License-Identifier: MIT
// Multi-head attention: parameters, what the layer becomes, and every bad
// option or source.
#include <gtest/gtest.h>

#include "layers/options.h"
#include "support/reference.h"
#include "support/training.h"

namespace traingraph::testing {
namespace {

using layers::MultiheadAttention;
using Descriptor = MultiheadAttentionDescriptor;
using Given = MultiheadAttentionOptions;

constexpr std::int64_t kSamples = 2, kQueries = 3, kKeys = 5, kWidth = 8;
constexpr Descriptor kPlain{.model_dimension = kWidth, .head_count = 4};

Tensor zeros(Shape shape, DataType type = DataType::Float32) {
  return Tensor::filled({.shape = shape, .data_type = type}, 0);
}

std::vector<Tensor> sources(std::int64_t key_width = kWidth,
                            std::int64_t value_width = kWidth) {
  return {zeros({kSamples, kQueries, kWidth}),
          zeros({kSamples, kKeys, key_width}),
          zeros({kSamples, kKeys, value_width})};
}

std::vector<Tensor> with(std::initializer_list<Tensor> masks) {
  std::vector<Tensor> all = sources();
  all.insert(all.end(), masks);
  return all;
}

Tensor key_mask() { return zeros({kSamples, kKeys}, DataType::Boolean); }
Tensor mask_for_all() { return zeros({1, kQueries, kKeys}); }
Tensor mask_for_each() {
  return zeros({kSamples * 4, kQueries, kKeys}, DataType::Boolean);
}

std::shared_ptr<MultiheadAttention> make(const Descriptor& descriptor,
                                         const Given& given = {}) {
  return std::make_shared<MultiheadAttention>(descriptor, given);
}

Shape result_of(const LayerPtr& layer, const std::vector<Tensor>& from) {
  return Graph().node(layer, from).shape();
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

std::vector<Tensor> weights() {
  return {zeros({1, 4, 2, kWidth}), zeros({kWidth, kWidth}),
          zeros({1, 4, 2, kWidth}), zeros({1, 1, kWidth, kWidth})};
}

TEST(MultiheadAttention, CreatesWhatIsNotGiven) {
  const auto layer = make({.model_dimension = 8,
                           .head_count = 2,
                           .key_dimension = 6,
                           .value_dimension = 4,
                           .uses_attention_biases = true},
                          {.key_source_dimension = 5});
  EXPECT_EQ(shapes_of(layer->weights()),
            (std::vector<Shape>{{6, 8}, {6, 5}, {4, 8}, {8, 4}}));
  EXPECT_EQ(shapes_of(layer->biases()),
            (std::vector<Shape>{{6}, {6}, {4}, {8}}));
  EXPECT_EQ(shapes_of(layer->attention_biases()),
            (std::vector<Shape>{{6}, {4}}));
  EXPECT_EQ(layer->parameters().size(), 10u);
  EXPECT_EQ(layer->weights()[3].name(), "multihead_attention.output_weights");
  EXPECT_EQ(layer->biases()[0].name(), "multihead_attention.query_biases");
  EXPECT_EQ(layer->attention_biases()[1].name(),
            "multihead_attention.value_attention_biases");
  EXPECT_EQ(result_of(layer, sources(5, 8)),
            (Shape{kSamples, kQueries, kWidth}));
}

TEST(MultiheadAttention, TakesItsOriginalsShapes) {
  const auto layer = make(kPlain, {.weights = weights(),
                                   .biases = {zeros({1, 8, 1, 1}), zeros({8}),
                                              zeros({1, 8}), zeros({8})}});
  EXPECT_EQ(result_of(layer, sources()), (Shape{kSamples, kQueries, kWidth}));
  EXPECT_EQ(layer->weights()[0].shape(), (Shape{1, 4, 2, kWidth}));
}

TEST(MultiheadAttention, HasNoBiasesUnlessAsked) {
  Descriptor descriptor = kPlain;
  descriptor.uses_biases = false;
  const auto layer = make(descriptor);
  EXPECT_TRUE(layer->biases().empty());
  EXPECT_TRUE(layer->attention_biases_parameters().empty());
  EXPECT_EQ(layer->parameters().size(), 4u);
}

TEST(MultiheadAttention, TellsMasksApartByTheirRank) {
  const Shape expected{kSamples, kQueries, kWidth};
  EXPECT_EQ(result_of(make(kPlain), with({key_mask()})), expected);
  EXPECT_EQ(result_of(make(kPlain), with({mask_for_all()})), expected);
  EXPECT_EQ(result_of(make(kPlain), with({mask_for_each()})), expected);
  EXPECT_EQ(result_of(make(kPlain), with({key_mask(), mask_for_each()})),
            expected);
  EXPECT_EQ(result_of(make(kPlain), with({mask_for_all(), key_mask()})),
            expected);
}

TEST(MultiheadAttention, RefusesSourcesThatDoNotFit) {
  const auto refuses = [](const std::vector<Tensor>& from) {
    return error_of<ShapeError>([&] { result_of(make(kPlain), from); });
  };
  EXPECT_EQ(refuses(sources(6)).expected, "(N, length, 8)");
  EXPECT_NE(refuses(sources(8, 9)).what.find("value source"),
            std::string::npos);
  EXPECT_EQ(refuses(with({zeros({kSamples})})).what,
            "a mask has the wrong number of axes");
  EXPECT_EQ(refuses(with({key_mask(), key_mask()})).what,
            "two masks of the same kind");
  EXPECT_EQ(refuses(with({zeros({2, kQueries, kKeys})})).expected,
            "(1, 3, 5), or (8, 3, 5) with one for each sample and head");
  EXPECT_EQ(
      refuses(with({zeros({kSamples, kQueries}, DataType::Boolean)})).expected,
      "(2, 5)");
  error_of<DTypeError>(
      [] { result_of(make(kPlain), with({zeros({kSamples, kKeys})})); });
  error_of<InvalidArgument>(
      [] { result_of(make(kPlain), {zeros({2, 3, 8}), zeros({2, 3, 8})}); });
  error_of<InvalidArgument>([] {
    result_of(make(kPlain), with({key_mask(), mask_for_all(), key_mask()}));
  });
}

TEST(MultiheadAttention, AnswersForDataTypes) {
  const Device cpu = Device::cpu();
  EXPECT_TRUE(MultiheadAttention::supports_data_type(DataType::Float32, cpu));
  EXPECT_TRUE(MultiheadAttention::supports_data_type(DataType::Boolean, cpu));
  EXPECT_FALSE(MultiheadAttention::supports_data_type(DataType::Int32, cpu));
}

struct BadOption {
  const char* field;
  Descriptor descriptor;
  Given given = {};
};

TEST(MultiheadAttention, RefusesBadOptions) {
  using D = Descriptor;
  const Tensor b8 = zeros({8});
  const D with_attention_biases{
      .model_dimension = 8, .head_count = 4, .uses_attention_biases = true};
  const BadOption cases[] = {
      {"model_dimension", {.model_dimension = -8, .head_count = 4}},
      {"head_count", {.model_dimension = 8}},
      {"key_dimension", {.model_dimension = 8, .head_count = 3}},
      {"key_dimension",
       {.model_dimension = 8, .head_count = 4, .key_dimension = -4}},
      {"value_dimension",
       {.model_dimension = 8, .head_count = 4, .value_dimension = 6}},
      {"dropout", {.model_dimension = 8, .head_count = 4, .dropout = 1}},
      {"dropout", {.model_dimension = 8, .head_count = 4, .dropout = -1}},
      {"weights", kPlain, {.weights = {zeros({8, 8})}}},
      {"biases", kPlain, {.biases = {b8, b8}}},
      {"uses_biases",
       {.model_dimension = 8, .head_count = 4, .uses_biases = false},
       {.biases = {b8, b8, b8, b8}}},
      {"uses_attention_biases", kPlain, {.attention_biases = {b8, b8}}},
      {"attention_biases", with_attention_biases, {.attention_biases = {b8}}},
      {"initializer",
       kPlain,
       {.weights = weights(), .initializer = RandomInitializerType::Uniform}},
      {"key_source_dimension",
       kPlain,
       {.weights = weights(), .key_source_dimension = 8}},
      {"value_source_dimension", kPlain, {.value_source_dimension = -1}},
      {"key_weights", kPlain, {.weights = std::vector<Tensor>(4)}},
      {"seed", kPlain, {.seed = 7}},
  };
  for (const BadOption& c : cases) {
    SCOPED_TRACE(c.field);
    const ErrorInfo info =
        error_of<InvalidArgument>([&] { make(c.descriptor, c.given); });
    EXPECT_EQ(info.op, "MultiheadAttention");
    EXPECT_NE(info.what.find(c.field), std::string::npos) << info.what;
  }
}

TEST(MultiheadAttention, RefusesParametersThatDoNotFit) {
  auto bad = weights();
  bad[3] = zeros({8, 4});
  EXPECT_NE(error_of<ShapeError>([&] {
              make(kPlain, {.weights = bad});
            }).what.find("output_weights"),
            std::string::npos);
  const std::vector<Tensor> biases{zeros({8}), zeros({8}), zeros({4}),
                                   zeros({8})};
  EXPECT_NE(error_of<ShapeError>([&] {
              make(kPlain, {.biases = biases});
            }).what.find("value_biases"),
            std::string::npos);
}

std::string lowered_attention(const Descriptor& descriptor,
                              const Given& given = {}) {
  Graph graph;
  graph.node(make(descriptor, given), with({key_mask(), mask_for_all()}));
  return graph.state()->program.to_string();
}

/// Any option changes what the layer becomes.
TEST(MultiheadAttention, HasNoOptionWithoutEffect) {
  const std::string plain = lowered_attention(kPlain);
  const auto differs = [&](auto member, auto value) {
    Descriptor changed = kPlain;
    changed.*member = value;
    EXPECT_NE(lowered_attention(changed), plain);
  };
  differs(&Descriptor::head_count, 2);
  differs(&Descriptor::key_dimension, 12);
  differs(&Descriptor::value_dimension, 12);
  differs(&Descriptor::dropout, 0.5f);
  differs(&Descriptor::uses_biases, false);
  differs(&Descriptor::uses_attention_biases, true);
  differs(&Descriptor::adds_zero_attention, true);
  Descriptor drops = kPlain;
  drops.dropout = 0.5f;
  EXPECT_NE(lowered_attention(drops, {.seed = 3}), lowered_attention(drops));
}

}  // namespace
}  // namespace traingraph::testing
