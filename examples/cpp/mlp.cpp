// SPDX-License-Identifier: MIT
// A multilayer perceptron learns which points of a square lie in a ring, then
// an inference graph that shares its parameters is asked about new points.
#include <traingraph/traingraph.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace tg = traingraph;

constexpr int kBatch = 128;

struct Batch {
  std::vector<float> points = std::vector<float>(kBatch * 2);
  std::vector<float> labels = std::vector<float>(kBatch);
};

Batch next_batch(std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Batch batch;
  for (int i = 0; i < kBatch; ++i) {
    const float x = batch.points[2 * i] = uniform(random);
    const float y = batch.points[2 * i + 1] = uniform(random);
    const float radius = std::hypot(x, y);
    batch.labels[i] = radius > 0.4f && radius < 0.8f ? 1.0f : 0.0f;
  }
  return batch;
}

int main() {
  tg::Platform::set_rng_seed(7);  // initial weights
  const tg::Tensor point({{kBatch, 2}}, "point");
  const tg::Tensor label({{kBatch, 1}}, "label");
  tg::Graph graph;
  tg::Tensor h = point;
  for (const auto& [in, out] : {std::pair{2, 32}, std::pair{32, 32}}) {
    h = graph.node(std::make_shared<tg::layers::FullyConnected>(in, out), h);
    h = graph.node(std::make_shared<tg::layers::Tanh>(), h);
  }
  h = graph.node(std::make_shared<tg::layers::FullyConnected>(32, 1), h);

  tg::TrainingGraph training(
      {graph}, std::make_shared<tg::losses::SigmoidCrossEntropy>(),
      std::make_shared<tg::optimizers::Adam>(1e-2f));
  training.add_inputs({{"point", point}}, {{"label", label}});
  training.compile(tg::Device::cpu());
  std::printf("%s\n", training.memory().to_string().c_str());

  std::mt19937 random(1);
  for (int step = 0; step < 1000; ++step) {
    const Batch batch = next_batch(random);
    const tg::Execution execution =
        training.execute({{"point", std::span(batch.points)}},
                         {{"label", std::span(batch.labels)}});
    if (step % 200 == 0) {
      std::printf("step %4d  loss %.4f\n", step, execution.result().loss());
    }
  }

  tg::InferenceGraph inference({graph});
  inference.add_inputs({{"point", point}});
  inference.add_outputs({{"logit", h}});
  inference.compile(tg::Device::cpu());
  const Batch test = next_batch(random);
  const tg::ExecutionResult result =
      inference.execute({{"point", std::span(test.points)}}).result();
  const tg::OutputView logit = result.output("logit");
  const auto* logits = reinterpret_cast<const float*>(logit.data.data());
  int correct = 0;
  for (int i = 0; i < kBatch; ++i) {
    correct += (logits[i] > 0) == (test.labels[i] > 0.5f);
  }
  std::printf("%d of %d new points are right\n", correct, kBatch);
  return correct >= kBatch * 95 / 100 ? 0 : 1;
}
