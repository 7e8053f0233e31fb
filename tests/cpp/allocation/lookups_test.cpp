// SPDX-License-Identifier: MIT
// Layers that look up by indices allocate nothing after the first step, and
// neither does the check of what the host gives.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "allocation/count_allocations.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Lookups, AllocateNothingAfterTheFirstStep) {
  constexpr std::int64_t kTokens = 500, kWidth = 40, kRows = 300;
  Graph graph;
  const Tensor ids({{kTokens}, DataType::Int64}, "ids");
  const Tensor label({{kTokens, kWidth}}, "label");
  const auto words = std::make_shared<layers::Embedding>(
      EmbeddingDescriptor{.embedding_count = kRows,
                          .embedding_dimension = kWidth,
                          .padding_index = 1,
                          .maximum_norm = 2.0f,
                          .scales_gradient_by_frequency = true});
  const std::vector<std::int32_t> order{3, 1, 4, 1, 5, 9, 2, 6};
  const Tensor columns({{8}, DataType::Int32},
                       TensorData(static_cast<const void*>(order.data()), 32));
  const Tensor rows = graph.node(words, ids);
  const Tensor some = graph.gather(1, rows, columns);
  const Tensor replaced = graph.scatter(1, some, columns, rows);
  graph.scatter(1, some, columns, replaced, ReductionType::Sum);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"ids", ids}}, {{"label", label}});
  t.compile(Device::cpu());
  std::vector<std::int64_t> indices(kTokens);
  for (std::int64_t k = 0; k < kTokens; ++k) indices[k] = k * k % kRows;
  const Floats values = random_floats(kTokens * kWidth, 1);
  const std::vector<NamedData> inputs{
      {"ids", TensorData(static_cast<const void*>(indices.data()),
                         indices.size() * sizeof(std::int64_t))}};
  const std::vector<NamedData> labels{{"label", view(values)}};
  const auto step = [&] { t.execute(inputs, labels).wait(); };
  for (int i = 0; i < 3; ++i) step();
  start_counting();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(stop_counting().ours, 0u);
}

/// The benchmark's embedding, smaller: rows are behind, and catch up in turns.
TEST(Lookups, OfRowsThatAreBehindAllocateNothingAfterTheFirstStep) {
  constexpr std::int64_t kSamples = 4, kTokens = 30, kWidth = 24, kRows = 2000;
  Graph graph;
  const Tensor ids({{kSamples, kTokens}, DataType::Int32}, "ids");
  const Tensor label({{kSamples, kWidth}}, "label");
  const Tensor rows =
      graph.node(std::make_shared<layers::Embedding>(EmbeddingDescriptor{
                     .embedding_count = kRows, .embedding_dimension = kWidth}),
                 ids);
  const Tensor mean = graph.node(
      std::make_shared<layers::Reduction>(ReductionType::Mean, 1), rows);
  graph.reshape({kSamples, kWidth}, mean);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  std::make_shared<optimizers::Adam>());
  t.add_inputs({{"ids", ids}}, {{"label", label}});
  t.compile(Device::cpu());
  std::vector<std::int32_t> indices(kSamples * kTokens);
  const Floats values = random_floats(kSamples * kWidth, 1);
  const std::vector<NamedData> inputs{
      {"ids", TensorData(static_cast<const void*>(indices.data()),
                         indices.size() * sizeof(std::int32_t))}};
  const std::vector<NamedData> labels{{"label", view(values)}};
  std::int32_t next = 0;
  const auto step = [&] {
    for (std::int32_t& index : indices) index = next = (next + 611) % kRows;
    t.execute(inputs, labels).wait();
  };
  for (int i = 0; i < 3; ++i) step();
  start_counting();
  for (int i = 0; i < 300; ++i) step();
  EXPECT_EQ(stop_counting().ours, 0u);
}

/// Both kinds of interpolation, and their gradients.
TEST(Upsampling, AllocatesNothingAfterTheFirstStep) {
  for (const SampleMode mode : {SampleMode::Nearest, SampleMode::Linear}) {
    Graph graph;
    const Tensor x({{2, 3, 9, 11}}, "x"), label({{2, 3, 20, 33}}, "label");
    const auto scaled = std::make_shared<layers::Convolution>(3, 3, 1);
    const Tensor small = graph.node(scaled, x);
    graph.node(std::make_shared<layers::Upsample>(Shape{20, 33}, mode), small);
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(0.1f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(Device::cpu());
    const Floats data = random_floats(2 * 3 * 9 * 11, 1),
                 wanted = random_floats(2 * 3 * 20 * 33, 2);
    const std::vector<NamedData> inputs{{"x", view(data)}};
    const std::vector<NamedData> labels{{"label", view(wanted)}};
    const auto step = [&] { t.execute(inputs, labels).wait(); };
    for (int i = 0; i < 3; ++i) step();
    start_counting();
    for (int i = 0; i < 20; ++i) step();
    EXPECT_EQ(stop_counting().ours, 0u);
  }
}

}  // namespace
}  // namespace traingraph
