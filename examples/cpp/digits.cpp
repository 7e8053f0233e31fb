// SPDX-License-Identifier: MIT
// The digits network of the demo, bit for bit reproducible.
//
//   digits [folder steps]
//
// `folder` holds raw little-endian float32 files, images.f32 (N, 1, 8, 8) and
// labels.f32 (N, 10), one-hot, and start.safetensors, the checkpoint to go on
// from. Step s trains on samples [64 b, 64 b + 64) with b = s mod (N / 64).
// Prints each loss with its bits and writes end.safetensors.
// Without arguments it trains twice on made-up digits and checks itself.
#include <traingraph/traingraph.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tg = traingraph;
namespace layers = traingraph::layers;
constexpr std::int64_t kBatch = 64, kPixels = 64, kClasses = 10;

struct Data {
  std::vector<float> images, labels;
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

/// A checkpoint knows parameters by the names of their layers.
template <class Layer, class... Arguments>
tg::Tensor add(tg::Graph& g, const tg::Tensor& source, const char* name,
               Arguments... arguments) {
  const auto layer = std::make_shared<Layer>(arguments...);
  layer->set_name(name);
  return g.node(layer, source);
}

/// Goes on from one checkpoint to another; "": there is none.
std::vector<float> train(const Data& data, int steps,
                         const std::string& from = "",
                         const std::string& to = "") {
  tg::Platform::set_rng_seed(1);  // initial weights and dropout
  const tg::Tensor image({{kBatch, 1, 8, 8}}, "image");
  const tg::Tensor label({{kBatch, kClasses}}, "label");
  const tg::BatchNormalizationOptions forgets_faster{.momentum = 0.9f};
  tg::Graph g;
  tg::Tensor h = add<layers::Convolution>(g, image, "conv1", 1, 32, 3);
  h = add<layers::BatchNormalization>(g, h, "norm32", 32, forgets_faster);
  h = add<layers::ReLU>(g, h, "");
  h = add<layers::MaxPooling>(g, h, "", 2);
  h = add<layers::Convolution>(g, h, "conv2", 32, 64, 3);
  h = add<layers::BatchNormalization>(g, h, "norm64", 64, forgets_faster);
  h = add<layers::ReLU>(g, h, "");
  h = add<layers::MaxPooling>(g, h, "", 2);
  h = g.reshape({kBatch, -1}, h);
  h = add<layers::Dropout>(g, h, "", 0.25f);
  h = add<layers::FullyConnected>(g, h, "hidden", 64 * 2 * 2, 128);
  h = add<layers::ReLU>(g, h, "");
  add<layers::FullyConnected>(g, h, "classes", 128, kClasses);

  tg::TrainingGraph training(
      {g}, std::make_shared<tg::losses::SoftmaxCrossEntropy>(),
      std::make_shared<tg::optimizers::Adam>(1e-3f));
  training.add_inputs({{"image", image}}, {{"label", label}});
  training.compile(tg::Device::cpu());
  if (!from.empty()) training.restore(from);
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
  if (!to.empty()) training.save(to);
  return losses;
}

int main(int argc, char** argv) {
  if (argc == 3) {
    const std::string folder = argv[1];
    train({read(folder + "/images.f32"), read(folder + "/labels.f32")},
          std::stoi(argv[2]), folder + "/start.safetensors",
          folder + "/end.safetensors");
    return 0;
  }
  const Data data = made_up_digits(640);
  const auto losses = train(data, /*steps=*/60);
  const bool repeats = losses == train(data, 60);
  std::printf("the second run %s\n", repeats ? "repeats" : "differs");
  return repeats && losses.back() < 0.1f * losses.front() ? 0 : 1;
}
