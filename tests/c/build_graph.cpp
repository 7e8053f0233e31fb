// SPDX-License-Identifier: MIT
// Builds the graph of c_test.c with layers, exports it untrained, and writes
// what its steps lose. build_graph <file> <losses>
#include <cstdint>
#include <fstream>
#include <vector>

#include "traingraph/traingraph.h"

namespace tg = traingraph;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int kSamples = 6, kInputs = 5, kClasses = 3, kSteps = 6;
  tg::Platform::set_rng_seed(7);
  const tg::Tensor x({{kSamples, kInputs}}, "x");
  const tg::Tensor label({{kSamples}, tg::DataType::Int32}, "class");
  tg::Graph g;
  auto first = std::make_shared<tg::layers::FullyConnected>(kInputs, 4);
  first->set_name("first");
  tg::Tensor h = g.node(first, x);
  h = g.node(std::make_shared<tg::layers::BatchNormalization>(4), h);
  h = g.node(std::make_shared<tg::layers::Dropout>(0.25f), h);
  h = g.node(std::make_shared<tg::layers::FullyConnected>(4, kClasses), h);
  auto adam = std::make_shared<tg::optimizers::Adam>(0.05f);
  adam->set_schedule(tg::Schedule::cosine(0.05f, 20));
  tg::TrainingGraph t({g}, std::make_shared<tg::losses::SoftmaxCrossEntropy>(),
                      adam);
  t.add_inputs({{"x", x}}, {{"class", label}});
  t.add_outputs({{"y", h}});
  t.compile(tg::Device::cpu());
  t.export_graph(argv[1]);
  std::ofstream losses(argv[2], std::ios::binary);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> in(kSamples * kInputs);
    for (int i = 0; i < kSamples * kInputs; ++i) {
      in[i] = static_cast<float>((step * 31 + i * 17) % 23) / 23.0f - 0.5f;
    }
    std::vector<std::int32_t> classes(kSamples);
    for (int i = 0; i < kSamples; ++i) classes[i] = (step + i) % kClasses;
    const std::vector<tg::NamedData> inputs{{"x", tg::TensorData(in)}};
    const std::vector<tg::NamedData> labels{
        {"class", tg::TensorData(classes.data(), 4 * classes.size())}};
    float loss = 0;
    if (step % 2 == 0) {
      loss = t.execute(inputs, labels).result().loss();
    } else {
      loss = t.execute_forward(inputs, labels).result().loss();
      t.execute_gradient();
      t.execute_optimizer_update().wait();
    }
    losses.write(reinterpret_cast<const char*>(&loss), sizeof(loss));
  }
  return losses ? 0 : 1;
}
