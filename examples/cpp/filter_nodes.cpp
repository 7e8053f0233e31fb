// SPDX-License-Identifier: MIT
// A LeNet made of filter nodes, and the walk backward through it.
//
//   filter_nodes [folder]
//
// `folder` holds raw little-endian float32 files: images.f32 (N, 1, 8, 8) and
// labels.f32 (N, 10), one-hot; the last fifth is held out. Without it the
// digits are made up. Fails below 97 % of the held-out images.
#include <traingraph/nodes.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tg = traingraph;
namespace nodes = traingraph::nodes;
constexpr std::int64_t kBatch = 64, kPixels = 64, kClasses = 10;

struct Data {
  std::vector<float> images, labels;
  std::int64_t size() const { return std::ssize(labels) / kClasses; }
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
      data.images.push_back(patterns[digit * kPixels + p] +
                            0.5f * normal(random));
    }
  }
  return data;
}

/// Samples [begin, end).
Data part(const Data& data, std::int64_t begin, std::int64_t end) {
  const auto cut = [&](const std::vector<float>& values, std::int64_t size) {
    return std::vector(values.begin() + begin * size,
                       values.begin() + end * size);
  };
  return {cut(data.images, kPixels), cut(data.labels, kClasses)};
}

/// Where one filter has its weights from: created here, trained on the device.
class Weights : public nodes::ConvolutionDataSource {
 public:
  Weights(std::string name, nodes::ConvolutionDescriptor descriptor,
          tg::OptimizerPtr optimizer, std::mt19937& random)
      : name_(std::move(name)),
        descriptor_(descriptor),
        optimizer_(std::move(optimizer)),
        biases_(descriptor.output_feature_channels) {
    const auto& [height, width] = descriptor.kernel_size;
    const auto fan_in = height * width * descriptor.input_feature_channels;
    std::normal_distribution<float> normal(0, std::sqrt(2.0f / fan_in));
    weights_.resize(fan_in * descriptor.output_feature_channels);
    for (float& value : weights_) value = normal(random);
  }
  nodes::ConvolutionDescriptor descriptor() const override {
    return descriptor_;
  }
  std::string name() const override { return name_; }
  std::span<const float> weights() override { return weights_; }
  std::span<const float> bias_terms() override { return biases_; }
  tg::OptimizerPtr optimizer() const override { return optimizer_; }
  void take(nodes::Graph::Weights trained) {
    weights_ = std::move(trained.weights);
    biases_ = std::move(trained.biases);
  }

 private:
  std::string name_;
  nodes::ConvolutionDescriptor descriptor_;
  tg::OptimizerPtr optimizer_;
  std::vector<float> weights_, biases_;
};

struct Network {
  nodes::ImageNode logits;
  nodes::LossNode loss;
  std::vector<std::shared_ptr<Weights>> weights;
};

Network build(std::mt19937& random) {
  const auto adam = std::make_shared<tg::optimizers::Adam>(2e-3f);
  std::vector<std::shared_ptr<Weights>> all;
  const auto weights = [&](const char* name, tg::Pair kernel, std::int64_t in,
                           std::int64_t out) {
    const nodes::ConvolutionDescriptor descriptor{
        .kernel_size = kernel,
        .input_feature_channels = in,
        .output_feature_channels = out};
    all.push_back(std::make_shared<Weights>(name, descriptor, adam, random));
    return all.back();
  };
  const nodes::ImageNode image("image", {1, 8, 8});
  const nodes::ImageNode labels("labels", {kClasses, 1, 1});
  const nodes::ConvolutionNode conv1(image, weights("conv1", {3, 3}, 1, 16));
  const nodes::ReLUNode relu1(conv1.result_image());
  const nodes::PoolingMaxNode pool1(relu1.result_image(),
                                    {.kernel_size = {2, 2}});
  const nodes::ConvolutionNode conv2(pool1.result_image(),
                                     weights("conv2", {3, 3}, 16, 32));
  const nodes::ReLUNode relu2(conv2.result_image());
  const nodes::PoolingMaxNode pool2(relu2.result_image(),
                                    {.kernel_size = {2, 2}});
  const nodes::FullyConnectedNode hidden(pool2.result_image(),
                                         weights("hidden", {2, 2}, 32, 64));
  const nodes::ReLUNode relu3(hidden.result_image());
  const nodes::FullyConnectedNode classes(
      relu3.result_image(), weights("classes", {1, 1}, 64, kClasses));
  classes.result_image().set_handle("logits");
  const nodes::LossNode loss(classes.result_image(), labels,
                             {.type = tg::LossType::SoftmaxCrossEntropy,
                              .reduction = tg::ReductionType::Sum});
  loss.loss_image().set_handle("loss");
  return {classes.result_image(), loss, all};
}

/// The images and labels of a batch that begins at `begin`.
struct Batch {
  Batch(const Data& data, std::int64_t begin)
      : size(std::min(kBatch, data.size() - begin)),
        images(&data.images[begin * kPixels], size * kPixels),
        labels(&data.labels[begin * kClasses], size * kClasses) {}
  std::int64_t size;
  std::span<const float> images, labels;
};

float train_epoch(nodes::Graph& graph, const Data& data) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    const Batch batch(data, begin);
    const tg::Execution run =
        graph.execute({{"image", batch.images}, {"labels", batch.labels}},
                      {.batch_size = batch.size});
    const tg::OutputView loss = run.result().output("loss");
    const auto* losses = reinterpret_cast<const float*>(loss.data.data());
    for (std::int64_t i = 0; i < batch.size; ++i) sum += losses[i];
  }
  return static_cast<float>(sum / static_cast<double>(data.size()));
}

double accuracy(nodes::Graph& graph, const Data& data) {
  std::int64_t num_right = 0;
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    const Batch batch(data, begin);
    const tg::ExecutionResult result =
        graph.execute({{"image", batch.images}}, {.batch_size = batch.size})
            .result();
    const tg::OutputView output = result.output("logits");
    const auto* logits = reinterpret_cast<const float*>(output.data.data());
    for (std::int64_t i = 0; i < batch.size; ++i) {
      const float* row = logits + i * kClasses;
      const auto found = std::max_element(row, row + kClasses) - row;
      num_right += batch.labels[i * kClasses + found] == 1;
    }
  }
  return 100.0 * static_cast<double>(num_right) /
         static_cast<double>(data.size());
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "";
  const Data data = folder.empty() ? made_up_digits(1000)
                                   : Data{read(folder + "/images.f32"),
                                          read(folder + "/labels.f32")};
  const std::int64_t num_train = data.size() * 4 / 5;
  const Data train = part(data, 0, num_train);
  const Data held_out = part(data, num_train, data.size());

  std::mt19937 random(1);
  const Network net = build(random);
  // The gradients of everything in front of the loss; nobody reads that of the
  // image itself, so the graph leaves it out.
  std::vector<nodes::ImageNode> leaves;
  for (const nodes::FilterNode& leaf : net.loss.training_graph()) {
    leaves.push_back(leaf.result_image());
  }
  nodes::Graph training(
      tg::Device::cpu(), leaves,
      {.batch_size = kBatch,
       .results_are_needed = std::vector<bool>(leaves.size(), false)});
  nodes::Graph inference(tg::Device::cpu(), {net.logits},
                         {.batch_size = kBatch});
  double percent = 0;
  for (int epoch = 0; epoch < 25; ++epoch) {
    const float loss = train_epoch(training, train);
    for (const auto& weights : net.weights) {
      weights->take(training.weights(*weights));
    }
    inference.reload_from_data_sources();
    percent = accuracy(inference, held_out);
    std::printf("epoch %2d  loss %.5f  held-out %.2f %%\n", epoch + 1,
                static_cast<double>(loss), percent);
  }
  return percent >= 97 ? 0 : 1;
}
