// SPDX-License-Identifier: MIT
// Linear regression: finds the weights that made the data. The smallest
// complete program; exit code 0 when they were found.
#include <traingraph/traingraph.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace tg = traingraph;

constexpr int kSamples = 256;
constexpr int kFeatures = 3;
constexpr float kWeights[kFeatures] = {2.0f, -3.0f, 0.5f};
constexpr float kBias = 1.0f;

int main() {
  // Data: y = x . weights + bias.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(kSamples * kFeatures), y(kSamples, kBias);
  for (int i = 0; i < kSamples; ++i) {
    for (int k = 0; k < kFeatures; ++k) {
      x[i * kFeatures + k] = normal(random);
      y[i] += x[i * kFeatures + k] * kWeights[k];
    }
  }

  // Build: axis 0 is the batch.
  const tg::Tensor input({{kSamples, kFeatures}}, "input");
  const tg::Tensor target({{kSamples, 1}}, "target");
  tg::Graph graph;
  const auto dense = std::make_shared<tg::layers::FullyConnected>(kFeatures, 1);
  graph.node(dense, input);

  // Compile: plans memory, allocates nothing.
  tg::TrainingGraph training({graph},
                             std::make_shared<tg::losses::MeanSquaredError>(),
                             std::make_shared<tg::optimizers::SGD>(0.1f));
  training.add_inputs({{"input", input}}, {{"target", target}});
  training.compile(tg::Device::cpu());

  // Execute: forward, gradient and update in one call.
  float loss = 0;
  for (int step = 0; step < 100; ++step) {
    loss =
        training.execute({{"input", std::span(x)}}, {{"target", std::span(y)}})
            .result()
            .loss();
  }
  training.synchronize_updates();  // device to host

  float error = std::abs(dense->biases().floats()[0] - kBias);
  for (int k = 0; k < kFeatures; ++k) {
    const float weight = dense->weights().floats()[k];
    std::printf("weight %d: %.4f, made with %.4f\n", k, weight, kWeights[k]);
    error = std::max(error, std::abs(weight - kWeights[k]));
  }
  std::printf("loss %g, largest error %g\n", loss, error);
  return error < 1e-4f ? 0 : 1;
}
