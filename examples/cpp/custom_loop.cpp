// SPDX-License-Identifier: MIT
// Phase by phase, with gradients edited in place between gradient and update:
// half of the weights are pruned and stay zero, and the gradients of all
// parameters are clipped together by a rule of our own.
#include <traingraph/traingraph.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace tg = traingraph;

constexpr int kBatch = 64, kFeatures = 16, kHidden = 32;

int main() {
  tg::Platform::set_rng_seed(3);
  const tg::Tensor input({{kBatch, kFeatures}}, "input");
  const tg::Tensor target({{kBatch, 1}}, "target");
  tg::Graph graph;
  const auto first =
      std::make_shared<tg::layers::FullyConnected>(kFeatures, kHidden);
  tg::Tensor h = graph.node(first, input);
  h = graph.node(std::make_shared<tg::layers::ReLU>(), h);
  graph.node(std::make_shared<tg::layers::FullyConnected>(kHidden, 1), h);

  // Prune every other weight of the first layer.
  const std::span<const float> created = first->weights().floats();
  std::vector<float> pruned(created.begin(), created.end());
  for (std::size_t i = 0; i < pruned.size(); i += 2) pruned[i] = 0;
  first->weights().set_data(pruned);

  tg::TrainingGraph training({graph},
                             std::make_shared<tg::losses::MeanSquaredError>(),
                             std::make_shared<tg::optimizers::SGD>(0.05f));
  training.add_inputs({{"input", input}}, {{"target", target}});
  training.compile(tg::Device::cpu());

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(kBatch * kFeatures), y(kBatch);
  for (float& value : x) value = normal(random);
  for (int i = 0; i < kBatch; ++i) {
    y[i] = std::sin(x[i * kFeatures]) + x[i * kFeatures + 1];
  }

  std::vector<float> losses;
  for (int step = 0; step < 300; ++step) {
    // Queued in order on the device; nothing waits yet.
    const auto forward = training.execute_forward({{"input", std::span(x)}},
                                                  {{"target", std::span(y)}});
    training.execute_gradient();
    // Waits for the gradients; the spans are the device's own memory.
    const std::span<float> weights = training.gradient(first->weights());
    for (std::size_t i = 0; i < weights.size(); i += 2) weights[i] = 0;
    double squares = 0;
    for (const float g : training.gradients()) squares += g * g;
    const auto scale =
        static_cast<float>(1 / std::max(1.0, std::sqrt(squares)));
    for (float& g : training.gradients()) g *= scale;
    training.execute_optimizer_update();
    losses.push_back(forward.result().loss());
  }

  training.synchronize_updates();
  const std::span<const float> trained = first->weights().floats();
  bool is_pruned = true;
  for (std::size_t i = 0; i < trained.size(); i += 2) {
    is_pruned = is_pruned && trained[i] == 0;
  }
  std::printf("loss %.4f -> %.4f, pruned weights are %s\n", losses.front(),
              losses.back(), is_pruned ? "still zero" : "changed");
  return is_pruned && losses.back() < 0.1f * losses.front() ? 0 : 1;
}
