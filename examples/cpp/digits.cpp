// SPDX-License-Identifier: MIT
// The digits network of the demo, bit for bit reproducible.
//
//   digits [folder seed steps]
//
// `folder` holds raw little-endian float32 files: images.f32 (N, 1, 8, 8),
// labels.f32 (N, 10), one-hot, and parameters.f32, in the order of
// TrainingGraph::parameters(). Step s trains on samples [64 b, 64 b + 64) with
// b = s mod (N / 64). Prints each loss with its bits.
// Without arguments it trains twice on made-up digits and checks itself.
#include <traingraph/traingraph.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tg = traingraph;
namespace layers = traingraph::layers;
constexpr std::int64_t kBatch = 64, kPixels = 64, kClasses = 10;

struct Data {
  std::vector<float> images, labels, parameters;  // no parameters: created
};

std::vector<float> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  std::vector<float> values(static_cast<std::size_t>(file.tellg()) / 4);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * 4));
  return values;
}

/// Ten random patterns with noise.
Data made_up_digits(int num_samples) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> patterns(kClasses * kPixels);
  for (float& value : patterns) value = normal(random);
  Data data;
  data.labels.resize(num_samples * kClasses);
  for (int i = 0; i < num_samples; ++i) {
    const int digit = i % kClasses;
    data.labels[i * kClasses + digit] = 1;
    for (int p = 0; p < kPixels; ++p) {
      data.images.push_back(patterns[digit * kPixels + p] + normal(random));
    }
  }
  return data;
}

template <class Layer, class... Arguments>
tg::Tensor add(tg::Graph& g, const tg::Tensor& source, Arguments... arguments) {
  return g.node(std::make_shared<Layer>(arguments...), source);
}

std::vector<float> train(const Data& data, std::int64_t seed, int steps) {
  tg::Platform::set_rng_seed(seed);  // initial weights and dropout
  const tg::Tensor image({{kBatch, 1, 8, 8}}, "image");
  const tg::Tensor label({{kBatch, kClasses}}, "label");
  tg::Graph g;
  tg::Tensor h = add<layers::Convolution>(g, image, 1, 32, 3);  // padding: same
  h = add<layers::BatchNormalization>(g, h, 32);
  h = add<layers::ReLU>(g, h);
  h = add<layers::MaxPooling>(g, h, 2);
  h = add<layers::Convolution>(g, h, 32, 64, 3);
  h = add<layers::BatchNormalization>(g, h, 64);
  h = add<layers::ReLU>(g, h);
  h = add<layers::MaxPooling>(g, h, 2);
  h = g.reshape({kBatch, -1}, h);
  h = add<layers::Dropout>(g, h, 0.25f);
  h = add<layers::FullyConnected>(g, h, 64 * 2 * 2, 128);
  h = add<layers::ReLU>(g, h);
  add<layers::FullyConnected>(g, h, 128, kClasses);

  tg::TrainingGraph training(
      {g}, std::make_shared<tg::losses::SoftmaxCrossEntropy>(),
      std::make_shared<tg::optimizers::Adam>(1e-3f));
  training.add_inputs({{"image", image}}, {{"label", label}});
  training.compile(tg::Device::cpu());
  std::span rest(data.parameters);
  for (const tg::Tensor& parameter : training.parameters()) {
    if (data.parameters.empty()) break;
    const std::size_t size = parameter.shape().num_elements();
    if (size > rest.size()) throw std::length_error("parameters.f32");
    parameter.bind_and_write_data(rest.first(size), tg::Device::cpu());
    rest = rest.subspan(size);
  }
  const auto num_batches = data.labels.size() / (kBatch * kClasses);
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const auto begin = (step % num_batches) * kBatch;
    const std::span images(&data.images[begin * kPixels], kBatch * kPixels);
    const std::span labels(&data.labels[begin * kClasses], kBatch * kClasses);
    const auto run = training.execute({{"image", images}}, {{"label", labels}});
    const float loss = losses.emplace_back(run.result().loss());
    std::printf("step %4d  loss %-10g %a\n", step, loss, loss);
  }
  return losses;
}

int main(int argc, char** argv) {
  if (argc == 4) {
    const std::string folder = argv[1];
    train({read(folder + "/images.f32"), read(folder + "/labels.f32"),
           read(folder + "/parameters.f32")},
          std::stoll(argv[2]), std::stoi(argv[3]));
    return 0;
  }
  const Data data = made_up_digits(640);
  const auto losses = train(data, /*seed=*/1, /*steps=*/60);
  const bool repeats = losses == train(data, 1, 60);
  std::printf("the second run %s\n", repeats ? "repeats" : "differs");
  return repeats && losses.back() < 0.1f * losses.front() ? 0 : 1;
}
