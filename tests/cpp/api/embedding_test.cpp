// SPDX-License-Identifier: MIT
// Training of embeddings: what a step does to each row, on every device, and
// the same bits for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// Rows by tokens against labels, summed squared error.
struct Words {
  Words(EmbeddingDescriptor descriptor, std::vector<std::int32_t> tokens,
        const Device& device = test_device(), OptimizerPtr optimizer = sgd(1))
      : tokens(std::move(tokens)) {
    const std::int64_t count = descriptor.embedding_count;
    const std::int64_t width = descriptor.embedding_dimension;
    const auto num_tokens = static_cast<std::int64_t>(this->tokens.size());
    start = random_floats(count * width, 1);
    labels = random_floats(num_tokens * width, 2);
    Tensor ids({{num_tokens}, DataType::Int32}, "ids");
    Tensor label({{num_tokens, width}}, "label");
    layer = std::make_shared<layers::Embedding>(
        descriptor,
        EmbeddingOptions{.weights = Tensor({{count, width}}, view(start))});
    const Tensor y = graph.node(layer, ids);
    t.emplace(std::vector{graph},
              std::make_shared<losses::MeanSquaredError>(
                  LossDescriptor{.reduction_type = ReductionType::Sum}),
              std::move(optimizer));
    t->add_inputs({{"ids", ids}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    t->compile(device);
  }
  Execution step(bool is_inference = false) {
    const TensorData ids(static_cast<const void*>(tokens.data()),
                         tokens.size() * sizeof(std::int32_t));
    return t->execute({{"ids", ids}}, {{"label", view(std::as_const(labels))}},
                      {}, {.forward_for_inference = is_inference});
  }
  std::vector<std::int32_t> tokens;
  Floats start, labels;
  std::shared_ptr<layers::Embedding> layer;
  Graph graph;
  std::optional<TrainingGraph> t;
};

/// d loss / d row of every token is 2 (row - label).
Doubles gradient(const Words& words, const Floats& rows, bool divides,
                 std::int64_t padding = -1) {
  const std::size_t width = words.layer->descriptor().embedding_dimension;
  Doubles sum(rows.size());
  for (std::size_t k = 0; k < words.tokens.size(); ++k) {
    const std::int32_t token = words.tokens[k];
    if (token == padding) continue;
    const auto times =
        static_cast<double>(std::ranges::count(words.tokens, token));
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = token * width + i;
      const double g = 2 * (rows[at] - words.labels[k * width + i]);
      sum[at] += divides ? g / times : g;
    }
  }
  return computed(std::move(sum));
}

TEST(EmbeddingTraining, MovesTheRowsThatWereLookedUp) {
  Words words({.embedding_count = 6, .embedding_dimension = 5},
              {4, 1, 1, 5, 4, 4, 1});
  words.step().wait();
  expect_near(read(words.layer->weights()),
              stepped(words.start, gradient(words, words.start, false), 1));
}

TEST(EmbeddingTraining, LeavesThePaddingRow) {
  Words words(
      {.embedding_count = 6, .embedding_dimension = 5, .padding_index = 1},
      {4, 1, 1, 5, 4, 4, 1});
  for (int i = 0; i < 3; ++i) words.step().wait();
  const Floats after = read(words.layer->weights());
  EXPECT_EQ(Floats(after.begin() + 5, after.begin() + 10),
            Floats(words.start.begin() + 5, words.start.begin() + 10));
}

TEST(EmbeddingTraining, DividesByFrequency) {
  Words words({.embedding_count = 6,
               .embedding_dimension = 5,
               .padding_index = 5,
               .scales_gradient_by_frequency = true},
              {4, 1, 1, 5, 4, 4, 1});
  words.t->execute_forward(
      {{"ids", TensorData(static_cast<const void*>(words.tokens.data()), 28)}},
      {{"label", view(std::as_const(words.labels))}});
  words.t->execute_gradient().wait();
  const Floats got = words.t->gradient_data(words.layer->weights());
  expect_near(got, gradient(words, words.start, true, /*padding=*/5));
}

TEST(EmbeddingTraining, StoresRowsOfTheMaximumNorm) {
  if (!computes()) GTEST_SKIP() << "[  SKIPPED ] nothing is computed";
  Words words(
      {.embedding_count = 6, .embedding_dimension = 5, .maximum_norm = 0.5f},
      {4, 1, 1, 5, 4, 4, 1}, test_device(), sgd(0));
  const Execution inference = words.step(/*is_inference=*/true);
  const Floats seen = floats_of(inference.result().output("y"));
  EXPECT_EQ(read(words.layer->weights()), words.start);
  const Floats trained = floats_of(words.step().result().output("y"));
  expect_near(trained, seen);
  const Floats after = read(words.layer->weights());
  for (std::size_t row = 0; row < 6; ++row) {
    double before = 0, norm = 0;
    for (std::size_t i = row * 5; i < row * 5 + 5; ++i) {
      before += double(words.start[i]) * words.start[i];
      norm += double(after[i]) * after[i];
    }
    const bool is_used = row == 1 || row == 4 || row == 5;
    const double expected =
        is_used ? std::min(0.5, std::sqrt(before)) : std::sqrt(before);
    EXPECT_NEAR(std::sqrt(norm), expected, 1e-6) << row;
  }
  // Tokens show their rows as they are stored.
  for (std::size_t k = 0; k < words.tokens.size(); ++k) {
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(trained[k * 5 + i], after[words.tokens[k] * 5 + i]);
    }
  }
}

Floats trained_with(int threads) {
  std::mt19937 engine(5);
  std::vector<std::int32_t> tokens(3000);
  // Few words are frequent, as in a text.
  for (std::int32_t& token : tokens) token = (engine() % 40) * (engine() % 20);
  Words words({.embedding_count = 800,
               .embedding_dimension = 48,
               .padding_index = 0,
               .maximum_norm = 3},
              std::move(tokens), Device::cpu(threads), sgd(1e-3f));
  for (int i = 0; i < 3; ++i) words.step().wait();
  return read(words.layer->weights());
}

TEST(EmbeddingTraining, DoesNotDependOnTheNumberOfThreads) {
  const Floats one = trained_with(1);
  for (int threads : {2, 3, 7}) EXPECT_EQ(trained_with(threads), one);
}

}  // namespace
}  // namespace traingraph
