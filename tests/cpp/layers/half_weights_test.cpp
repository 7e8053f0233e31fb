// SPDX-License-Identifier: MIT
// Layers with weights of 16 bits: what is created beside what is given has its
// type, and types of one layer do not mix.
#include <gtest/gtest.h>

#include "traingraph/error.h"
#include "traingraph/half_types.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using namespace layers;

Tensor filled(const Shape& shape, DataType type, double value = 0.5) {
  return Tensor::filled({shape, type}, value);
}

class HalfWeights : public ::testing::TestWithParam<DataType> {
 protected:
  static void expect_own_type(const Layer& layer) {
    for (const TensorParameter& parameter : layer.parameters()) {
      EXPECT_EQ(parameter.tensor().data_type(), GetParam());
    }
  }
};

TEST_P(HalfWeights, BiasesFollowWeightsAndWeightsBiases) {
  const DataType type = GetParam();
  expect_own_type(FullyConnected(4, 3, {.weights = filled({3, 4}, type)}));
  expect_own_type(FullyConnected(4, 3, {.biases = filled({3}, type)}));
  const ConvolutionDescriptor convolution{.kernel_size = {3, 3},
                                          .input_feature_channel_count = 2,
                                          .output_feature_channel_count = 3};
  expect_own_type(
      Convolution(convolution, {.weights = filled({3, 2, 3, 3}, type)}));
  expect_own_type(PReLU(filled({3}, type)));
  const EmbeddingDescriptor table{.embedding_count = 5,
                                  .embedding_dimension = 2};
  expect_own_type(Embedding(table, {.weights = filled({5, 2}, type)}));
}

TEST_P(HalfWeights, ListsOfRecurrentLayersAndAttention) {
  const DataType type = GetParam();
  const LSTMDescriptor sizes{.input_size = 3, .hidden_size = 4};
  LSTMOptions lstm;
  lstm.input_weights = {filled({16, 3}, type)};
  expect_own_type(LSTM(sizes, lstm));
  GRUOptions gru;
  gru.hidden_weights = {filled({12, 4}, type)};
  gru.reset_after = true;
  expect_own_type(GRU(sizes, gru));
  MultiheadAttentionOptions attention;
  for (int i = 0; i < 4; ++i) {
    attention.weights.push_back(filled({4, 4}, type));
  }
  const MultiheadAttentionDescriptor heads{
      .model_dimension = 4, .head_count = 2, .uses_attention_biases = true};
  expect_own_type(MultiheadAttention(heads, attention));
}

TEST_P(HalfWeights, DoNotMix) {
  const DataType type = GetParam();
  EXPECT_THROW(FullyConnected(4, 3,
                              {.weights = filled({3, 4}, type),
                               .biases = filled({3}, DataType::Float32)}),
               DTypeError);
  EXPECT_THROW(FullyConnected(4, 3,
                              {.weights = filled({3, 4}, DataType::Float32),
                               .biases = filled({3}, type)}),
               DTypeError);
  EXPECT_THROW(
      FullyConnected(4, 3, {.weights = filled({3, 4}, DataType::Int32, 1)}),
      DTypeError);
  EXPECT_THROW(BatchNormalization(3, {.gamma = filled({3}, type)}), DTypeError);
  EXPECT_THROW(LayerNormalization({3}, {.gamma = filled({3}, type)}),
               DTypeError);
}

TEST_P(HalfWeights, MergedAdaptersRoundOnce) {
  const auto base = std::make_shared<FullyConnected>(
      4, 3, WeightOptions{.weights = filled({3, 4}, GetParam(), 0.3)});
  const LoRA lora(base, 2, 4);
  expect_own_type(lora);
  const auto layer = lora.merged();
  const Tensor& merged = layer->weights();
  ASSERT_EQ(merged.data_type(), GetParam());
  // The adapter adds nothing yet.
  EXPECT_TRUE(std::ranges::equal(merged.data(), base->weights().data()));
}

INSTANTIATE_TEST_SUITE_P(Types, HalfWeights,
                         ::testing::Values(DataType::BFloat16,
                                           DataType::Float16),
                         [](const auto& info) {
                           return std::string(to_string(info.param));
                         });

}  // namespace
}  // namespace traingraph
