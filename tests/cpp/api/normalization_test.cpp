// SPDX-License-Identifier: MIT
// Normalizations of single samples in graphs: running statistics in training
// and inference, smaller batches, user gradients.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

using layers::GroupNormalization;
using layers::InstanceNormalization;
using layers::LayerNormalization;

struct Net {
  Net(LayerPtr layer, Shape shape) : x({shape}, "x") {
    y = graph.node(std::move(layer), x);
    data = random_floats(shape.num_elements(), 1);
  }
  std::vector<NamedData> inputs() const { return {{"x", view(data)}}; }

  Tensor x, y;
  Graph graph;
  Floats data;
};

/// Mean and unbiased variance of each of `count` rows of four, and of channels
/// over the samples.
struct Statistics {
  Doubles mean = Doubles(3), variance = Doubles(3);
  explicit Statistics(const Floats& data) {
    const std::size_t samples = data.size() / 12;
    for (std::size_t row = 0; row < 3 * samples; ++row) {
      double m = 0, v = 0;
      for (int i = 0; i < 4; ++i) m += data[4 * row + i] / 4.0;
      for (int i = 0; i < 4; ++i) v += std::pow(data[4 * row + i] - m, 2) / 3;
      mean[row % 3] += m / static_cast<double>(samples);
      variance[row % 3] += v / static_cast<double>(samples);
    }
  }
};

TEST(Normalization, RunningStatisticsOfInstancesMoveInTraining) {
  const Floats zeros(3, 0.0f);
  const auto norm = std::make_shared<InstanceNormalization>(
      3, InstanceNormalizationOptions{.mean = Tensor({{3}}, view(zeros)),
                                      .momentum = 0.75f});
  Net net(norm, {5, 3, 4});
  TrainingGraph t({net.graph});
  t.allocate_user_gradient(net.y);
  t.add_inputs({{"x", net.x}});
  t.add_outputs({{"y", net.y}});
  t.compile(test_device());
  const auto forward = [&](bool for_inference) {
    const auto result =
        t.execute_forward(net.inputs(), {}, {},
                          {.forward_for_inference = for_inference})
            .result();
    return floats_of(result.output("y"));
  };
  // Mean 0 and variance 1: nearly the identity.
  expect_near(forward(true), computed(net.data), 1e-4);
  EXPECT_EQ(read(norm->mean()), zeros);
  const Floats y = forward(false);
  const Statistics batch(net.data);
  Doubles mean(3), variance(3);
  for (int c = 0; c < 3; ++c) {
    mean[c] = 0.25 * batch.mean[c];
    variance[c] = 0.75 + 0.25 * batch.variance[c];
  }
  if (!computes()) return;
  expect_near(read(norm->mean()), mean);
  expect_near(read(norm->variance()), variance);
  for (std::size_t row = 0; row < y.size() / 4; ++row) {
    EXPECT_NEAR(y[4 * row] + y[4 * row + 1] + y[4 * row + 2] + y[4 * row + 3],
                0, 1e-5);
  }
  const Floats after = forward(true);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t c = i / 4 % 3;
    EXPECT_NEAR(after[i], (net.data[i] - mean[c]) / std::sqrt(variance[c]),
                1e-4);
  }
}

TEST(Normalization, InInferenceFormRunningStatisticsStay) {
  const Floats mean{0.5f, -1, 2}, variance{0.25f, 4, 1};
  const auto norm = std::make_shared<layers::BatchNormalization>(
      3, BatchNormalizationOptions{.mean = Tensor({{3}}, view(mean)),
                                   .variance = Tensor({{3}}, view(variance))});
  norm->use_inference_form();
  Net net(norm, {5, 3, 4});
  TrainingGraph t({net.graph});
  t.allocate_user_gradient(net.y);
  t.add_inputs({{"x", net.x}});
  t.add_outputs({{"y", net.y}});
  t.compile(test_device());
  const auto forward = [&](bool for_inference) {
    const auto result =
        t.execute_forward(net.inputs(), {}, {},
                          {.forward_for_inference = for_inference})
            .result();
    return floats_of(result.output("y"));
  };
  EXPECT_EQ(forward(false), forward(true));
  EXPECT_EQ(read(norm->mean()), mean);
  EXPECT_EQ(read(norm->variance()), variance);

  norm->use_inference_form(false);
  EXPECT_THROW(forward(false), StateError);
  t.compile(test_device());
  forward(false);
  EXPECT_EQ(read(norm->mean()) != mean, computes());
}

TEST(Normalization, WithoutRunningStatisticsInferenceIsTraining) {
  const LayerPtr layers[] = {std::make_shared<InstanceNormalization>(4),
                             std::make_shared<GroupNormalization>(4, 2),
                             std::make_shared<LayerNormalization>(Shape{4, 6})};
  for (const LayerPtr& layer : layers) {
    Net net(layer, {5, 4, 6});
    InferenceGraph inference({net.graph});
    inference.add_inputs({{"x", net.x}});
    inference.compile(test_device());
    TrainingGraph training({net.graph});
    training.allocate_user_gradient(net.y);
    training.add_inputs({{"x", net.x}});
    training.compile(test_device());
    EXPECT_EQ(
        floats_of(*inference.execute(net.inputs()).result().result()),
        floats_of(
            *training.execute_forward(net.inputs(), {}).result().result()));
  }
}

TEST(Normalization, ASampleDoesNotDependOnItsBatch) {
  const auto make = [] {
    return std::vector<LayerPtr>{
        std::make_shared<InstanceNormalization>(4),
        std::make_shared<GroupNormalization>(4, 2),
        std::make_shared<LayerNormalization>(Shape{6}),
        std::make_shared<LayerNormalization>(
            Shape{4}, LayerNormalizationOptions{.axes = {1}})};
  };
  for (const LayerPtr& layer : make()) {
    Net net(layer, {8, 4, 6});
    InferenceGraph g({net.graph});
    g.add_inputs({{"x", net.x}});
    g.compile(test_device());
    const Floats all = floats_of(*g.execute(net.inputs()).result().result());
    const Floats three(net.data.begin(), net.data.begin() + 72);
    const Floats some = floats_of(
        *g.execute({{"x", view(three)}}, {.batch_size = 3}).result().result());
    expect_near(some, Floats(all.begin(), all.begin() + 72), 1e-6);
  }
}

TEST(Normalization, ParametersTrain) {
  for (const bool by_element : {false, true}) {
    Net net(by_element
                ? LayerPtr(std::make_shared<LayerNormalization>(Shape{6}))
                : std::make_shared<GroupNormalization>(4, 2),
            {5, 4, 6});
    const Tensor label({{5, 4, 6}}, "label");
    TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(1));
    t.add_inputs({{"x", net.x}}, {{"label", label}});
    t.compile(test_device());
    const Floats labels = random_floats(120, 2);
    const auto loss = [&] {
      return t.execute(net.inputs(), {{"label", view(labels)}}).result().loss();
    };
    const float first = loss();
    float last = first;
    for (int i = 0; i < 30; ++i) last = loss();
    EXPECT_TRUE(!computes() || last < 0.8f * first) << first << " " << last;
  }
}

}  // namespace
}  // namespace traingraph
