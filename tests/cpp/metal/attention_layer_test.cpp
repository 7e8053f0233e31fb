// SPDX-License-Identifier: MIT
// Multi-head attention with every option trains alike on CPU and GPU: dropout
// has the same bits there.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph::testing {
namespace {

struct Outcome {
  Floats losses, query_weights, attention_bias;
};

Outcome train_on(const Device& device) {
  Platform::set_rng_seed(4);
  const auto layer = std::make_shared<layers::MultiheadAttention>(
      MultiheadAttentionDescriptor{.model_dimension = 8,
                                   .head_count = 2,
                                   .key_dimension = 4,
                                   .value_dimension = 6,
                                   .dropout = 0.25f,
                                   .uses_attention_biases = true,
                                   .adds_zero_attention = true},
      MultiheadAttentionOptions{.seed = 7});
  const Tensor query({.shape = {3, 4, 8}}, "query"),
      key({.shape = {3, 5, 8}}, "key"), label({.shape = {3, 4, 8}}, "label");
  const Tensor key_mask({.shape = {3, 5}, .data_type = DataType::Boolean},
                        "key_mask");
  const Tensor mask({.shape = {1, 4, 5}}, "mask", std::nullopt);
  Graph graph;
  graph.node(layer, {query, key, key, key_mask, mask});
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.5f));
  t.add_inputs(
      {{"query", query}, {"key", key}, {"key_mask", key_mask}, {"mask", mask}},
      {{"label", label}});
  t.compile(device);
  Floats queries = random_floats(96, 1), keys = random_floats(120, 2),
         labels = random_floats(96, 3), biases = random_floats(20, 4);
  std::vector<std::uint8_t> hidden(15, 0);
  hidden[3] = hidden[5] = hidden[9] = 1;
  Outcome outcome;
  for (int step = 0; step < 3; ++step) {
    const auto run =
        t.execute({{"query", view(queries)},
                   {"key", view(keys)},
                   {"key_mask", TensorData(hidden.data(), hidden.size())},
                   {"mask", view(biases)}},
                  {{"label", view(labels)}})
            .get();
    outcome.losses.push_back(run.loss());
  }
  outcome.query_weights = read(layer->weights()[0]);
  outcome.attention_bias = read(layer->attention_biases()[0]);
  return outcome;
}

void expect_close(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  }
}

TEST(AttentionLayer, TrainsAlikeOnBothDevices) {
  const Outcome gpu = train_on(Device::gpu()), cpu = train_on(Device::cpu());
  expect_close(gpu.losses, cpu.losses);
  expect_close(gpu.query_weights, cpu.query_weights);
  expect_close(gpu.attention_bias, cpu.attention_bias);
  EXPECT_LT(gpu.losses[2], gpu.losses[0]);
}

}  // namespace
}  // namespace traingraph::testing
