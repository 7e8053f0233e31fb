// SPDX-License-Identifier: MIT
// What an LSTM of a thousand steps costs before it runs: a sequence is one unit
// per layer and direction, and its plan holds what the gradient reads.
#include <gtest/gtest.h>

#include <ctime>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 8, kSteps = 1000, kIn = 32, kHidden = 64;

TEST(LongSequences, CompileInNoTimeIntoWhatTheGradientNeeds) {
  Graph graph;
  const Tensor x({{kBatch, kSteps, kIn}}, "x"), label({{kBatch, 10}}, "label");
  Tensor y = graph.node(std::make_shared<layers::LSTM>(
                            LSTMDescriptor{.input_size = kIn,
                                           .hidden_size = kHidden,
                                           .returns_sequences = false}),
                        x);
  y = graph.reshape({kBatch, kHidden}, y);
  graph.node(std::make_shared<layers::FullyConnected>(kHidden, 10), y);
  TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                  std::make_shared<optimizers::Adam>(1e-3f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  const std::clock_t start = std::clock();
  t.compile(Device::cpu());
  const double seconds =
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.5);

  // Gates, cells, hidden states, and the source with time first.
  constexpr std::size_t kFloats =
      kBatch * kSteps * (4 * kHidden + kHidden + kHidden + kIn);
  EXPECT_LE(t.memory().step.saved_bytes, kFloats * sizeof(float) * 1.01);
  // The rest are gradients of parameters and scratch memory of products.
  EXPECT_LE(t.memory().step.arena_bytes, kFloats * sizeof(float) * 1.15);
}

}  // namespace
}  // namespace traingraph
