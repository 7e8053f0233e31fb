// SPDX-License-Identifier: MIT
// Training of embeddings: what a step does to each row, on every device, and
// the same bits for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
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

/// Parameter, then slots, after a few steps. A step computes the gradient on
/// its way over the table; the phases write all of it.
Floats after_steps(const EmbeddingDescriptor& descriptor,
                   const OptimizerPtr& optimizer, bool in_phases, int threads) {
  std::mt19937 engine(7);
  std::vector<std::int32_t> tokens(700);
  for (std::int32_t& token : tokens) token = (engine() % 30) * (engine() % 30);
  Words words(descriptor, std::move(tokens), Device::cpu(threads), optimizer);
  // Zeros of both signs in rows that are used and not.
  for (std::size_t i = 0; i < words.start.size(); i += 7) {
    words.start[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  words.layer->weights().set_data(view(words.start));
  for (int i = 0; i < 3; ++i) {
    if (!in_phases) {
      words.step().wait();
      continue;
    }
    const TensorData ids(static_cast<const void*>(words.tokens.data()),
                         words.tokens.size() * sizeof(std::int32_t));
    words.t->execute_forward({{"ids", ids}},
                             {{"label", view(std::as_const(words.labels))}});
    words.t->execute_gradient();
    words.t->execute_optimizer_update().wait();
  }
  Floats all = read(words.layer->weights());
  words.layer->weights().synchronize_optimizer_data();
  for (const OptimizerData& slot : words.layer->weights().optimizer_data()) {
    Floats values(slot.data.size() / sizeof(float));
    std::memcpy(values.data(), slot.data.data(), slot.data.size());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

bool has_same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Updates that leave rows of zeros as they are, and all that move them.
std::vector<OptimizerPtr> rules() {
  using namespace optimizers;
  OptimizerDescriptor clipped;
  clipped.learning_rate = 0.01f;
  clipped.applies_gradient_clipping = true;
  clipped.gradient_clip_min = -0.5f;
  clipped.gradient_clip_max = 0.25f;
  clipped.gradient_rescale = 1.5f;
  OptimizerDescriptor excluding_zero = clipped;
  excluding_zero.gradient_clip_min = 0.125f;
  OptimizerDescriptor decaying;
  decaying.learning_rate = 0.01f;
  decaying.regularization_type = RegularizationType::L2;
  decaying.regularization_scale = 0.1f;
  OptimizerDescriptor negated = clipped;
  negated.gradient_rescale = -1.5f;
  OptimizerDescriptor shrinking = decaying;
  shrinking.regularization_type = RegularizationType::L1;
  return {sgd(0.01f),
          std::make_shared<SGD>(clipped),
          std::make_shared<SGD>(negated),
          std::make_shared<SGD>(excluding_zero),
          std::make_shared<SGD>(decaying),
          std::make_shared<SGD>(shrinking, 0.9f),
          std::make_shared<SGD>(excluding_zero, 0.9f, true),
          std::make_shared<Adam>(excluding_zero),
          std::make_shared<Adam>(decaying, 0.8f, 0.9f, 1e-6f, true),
          std::make_shared<AdamW>(clipped),
          std::make_shared<RMSProp>(decaying),
          std::make_shared<RMSProp>(clipped, 0.9f),
          std::make_shared<RMSProp>(clipped, 0.5f, 0.9f, 1e-6f, true),
          std::make_shared<RMSProp>(clipped, 0.0f, 0.9f, 1e-6f, true)};
}

TEST(EmbeddingTraining, StepsOfRowsHaveTheBitsOfDenseUpdates) {
  const std::vector<EmbeddingDescriptor> tables{
      {.embedding_count = 900, .embedding_dimension = 21},
      {.embedding_count = 900, .embedding_dimension = 1, .padding_index = 0},
      {.embedding_count = 900,
       .embedding_dimension = 64,
       .padding_index = 4,
       .scales_gradient_by_frequency = true},
      {.embedding_count = 900, .embedding_dimension = 16, .maximum_norm = 1}};
  for (std::size_t table = 0; table < tables.size(); ++table) {
    for (std::size_t rule = 0; rule < rules().size(); ++rule) {
      SCOPED_TRACE(std::to_string(table) + ", " + std::to_string(rule));
      const Floats dense = after_steps(tables[table], rules()[rule], true, 1);
      for (int threads : {1, 2, 5}) {
        EXPECT_TRUE(has_same_bits(
            after_steps(tables[table], rules()[rule], false, threads), dense))
            << threads << " threads";
      }
    }
  }
}

TEST(EmbeddingTraining, AStepStoresNoGradientOfTheTable) {
  const EmbeddingDescriptor table{.embedding_count = 6,
                                  .embedding_dimension = 5};
  for (const OptimizerPtr& optimizer : rules()) {
    Words words(table, {4, 1, 1, 2}, Device::cpu(), optimizer);
    const MemoryReport memory = words.t->memory();
    EXPECT_EQ(memory.phases.gradient_bytes, 120u);
    EXPECT_EQ(memory.step.gradient_bytes, 0u);
    words.step().wait();
    const MemoryReport after = words.t->memory();
    EXPECT_EQ(after.predicted_bytes, after.allocated_bytes);
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
