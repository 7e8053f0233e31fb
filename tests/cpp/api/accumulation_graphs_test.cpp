// SPDX-License-Identifier: MIT
// Accumulation where gradients are of rows, or belong to several graphs.
#include <gtest/gtest.h>

#include <array>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using enum GradientAccumulation;
using optimizers::Adam;

TEST(Accumulation, OfEmbeddingsIsThatOfAllTokens) {
  for (const OptimizerPtr& optimizer :
       {sgd(0.1f), sgd(0.1f, 0.9f), OptimizerPtr(new Adam(0.01f))}) {
    const auto words = [&](bool is_whole) {
      const std::vector<std::int32_t> tokens{3, 1, 3, 7, 7, 0, 3, 2};
      const Floats labels = random_floats(8 * 4, 9);
      Tensor ids({{8}, DataType::Int32}, "ids");
      Tensor label({{8, 4}}, "label");
      const auto layer = std::make_shared<layers::Embedding>(
          EmbeddingDescriptor{.embedding_count = 40, .embedding_dimension = 4},
          EmbeddingOptions{.weights =
                               Tensor({{40, 4}}, view(random_floats(160, 8)))});
      Graph graph;
      graph.node(layer, ids);
      TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                      optimizer->clone());
      t.add_inputs({{"ids", ids}}, {{"label", label}});
      t.compile(test_device(), {.accumulate_gradients = true});
      const auto data = [&](std::int64_t begin, std::int64_t count) {
        return TensorData(static_cast<const void*>(tokens.data() + begin),
                          count * sizeof(std::int32_t));
      };
      const auto wanted = [&](std::int64_t begin, std::int64_t count) {
        return TensorData(
            std::span<const float>(labels.data() + begin * 4, count * 4));
      };
      for (int step = 0; step < 3; ++step) {
        // Rows that the step leaves behind are up to now when phases read.
        t.execute({{"ids", data(0, 8)}}, {{"label", wanted(0, 8)}});
        const std::int64_t size = is_whole ? 8 : 2;
        for (std::int64_t at = 0; at < 8; at += size) {
          t.execute_forward({{"ids", data(at, size)}},
                            {{"label", wanted(at, size)}}, {},
                            {.batch_size = size});
          t.execute_gradient({.accumulate = ByLoss});
        }
        t.execute_optimizer_update();
      }
      return read(layer->weights());
    };
    expect_near(words(false), words(true), 1e-5);
  }
}

TEST(Accumulation, OfLinkedGraphsAddsUp) {
  // a: x -> t, b: t -> loss, the same weights in both.
  struct Pair {
    Pair() {
      w = Tensor({{3, 3}}, view(random_floats(9, 1)));
      middle = a.node(std::make_shared<layers::FullyConnected>(w), x);
      own = Tensor({{3, 3}}, view(random_floats(9, 2)));
      b.node(std::make_shared<layers::FullyConnected>(own),
             b.node(std::make_shared<layers::FullyConnected>(w), middle));
      front.emplace(std::vector{a}, nullptr, sgd(0.1f));
      front->add_inputs({{"x", x}});
      back.emplace(std::vector{b},
                   std::make_shared<losses::MeanSquaredError>(
                       LossDescriptor{.reduction_type = ReductionType::Sum}),
                   front->optimizer());
      back->add_inputs({{"t", middle}}, {{"label", label}});
      for (TrainingGraph* t : {&*front, &*back}) {
        t->compile(test_device(), {.link_graphs = true});
      }
      front->link({*back});
    }
    void pass(unsigned seed, GradientAccumulation accumulate) {
      const Floats data = random_floats(12, seed);
      front->execute_forward({{"x", view(data)}}, {});
      back->execute_forward({}, {{"label", view(data)}});
      back->execute_gradient({.accumulate = accumulate});
      front->execute_gradient({.accumulate = accumulate});
    }
    Tensor x{{{4, 3}}, "x"}, label{{{4, 3}}, "label"}, w, own, middle;
    Graph a, b;
    std::optional<TrainingGraph> front, back;
  };
  std::array<Floats, 2> w, own;
  for (int i = 0; i < 2; ++i) {
    Pair pair;
    pair.pass(10 + i, GradientAccumulation::None);
    w[i] = pair.front->gradient_data(pair.w);
    own[i] = pair.back->gradient_data(pair.own);
  }
  for (std::size_t i = 0; i < w[0].size(); ++i) {
    w[0][i] += w[1][i];
    own[0][i] += own[1][i];
  }
  Pair pair;
  pair.pass(10, Sum);
  pair.pass(11, Sum);
  expect_near(pair.front->gradient_data(pair.w), w[0]);
  expect_near(pair.back->gradient_data(pair.own), own[0]);
  pair.back->execute_forward({}, {{"label", view(random_floats(12, 1))}});
  error_of<InvalidArgument>(
      [&] { pair.back->execute_gradient({.accumulate = Mean}); });
}

}  // namespace
}  // namespace traingraph
