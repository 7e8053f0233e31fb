// SPDX-License-Identifier: MIT
// The digits network of the examples, fifty steps on the GPU and on the CPU.
// The images are made up: ten random patterns with noise.
#include <gtest/gtest.h>

#include <algorithm>

#include "metal/gpu_test.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 16, kPixels = 64, kClasses = 10;
constexpr int kSteps = 50;

struct Digits {
  Digits() : labels(one_hot(kBatch * kSteps, kClasses)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    Floats patterns(kClasses * kPixels);
    for (float& value : patterns) value = normal(random);
    for (std::int64_t i = 0; i < kBatch * kSteps; ++i) {
      for (std::int64_t p = 0; p < kPixels; ++p) {
        const float pattern = patterns[i % kClasses * kPixels + p];
        images.push_back(pattern + normal(random));
      }
    }
  }
  std::span<const float> image_batch(int step) const {
    return std::span(images).subspan(step * kBatch * kPixels, kBatch * kPixels);
  }
  std::span<const float> label_batch(int step) const {
    return std::span(labels).subspan(step * kBatch * kClasses,
                                     kBatch * kClasses);
  }
  Floats images, labels;
};

/// As in examples/cpp/digits.cpp.
class DigitsNet {
 public:
  explicit DigitsNet(const Device& device, const DigitsNet* other = nullptr) {
    add_convolution(1, 32);
    add<layers::BatchNormalization>(32);
    add<layers::ReLU>();
    add<layers::MaxPooling>(2);
    add_convolution(32, 64);
    add<layers::BatchNormalization>(64);
    add<layers::ReLU>();
    add<layers::MaxPooling>(2);
    h_ = graph_.reshape({kBatch, -1}, h_);
    before_ = h_;
    add<layers::Dropout>(0.25f, 11);
    after_ = h_;
    add<layers::FullyConnected>(64 * 2 * 2, 128);
    add<layers::ReLU>();
    add<layers::FullyConnected>(128, kClasses);
    t.emplace(std::vector{graph_},
              std::make_shared<losses::SoftmaxCrossEntropy>(),
              std::make_shared<optimizers::Adam>(1e-3f));
    t->add_inputs({{"image", image_}}, {{"label", label_}});
    t->add_outputs({{"before", before_}, {"after", after_}});
    t->compile(device);
    if (!other) return;
    const auto parameters = t->parameters(), from = other->t->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Floats values = host(from[i]);
      parameters[i].bind_and_write_data(view(values), device);
    }
  }

  ExecutionResult step(const Digits& data, int step) {
    return t
        ->execute({{"image", data.image_batch(step)}},
                  {{"label", data.label_batch(step)}})
        .result();
  }

  /// All that have an effect; what is added before a batch normalization has
  /// none, its gradient is rounding and nothing else.
  Floats parameters() const {
    Floats all;
    for (const Tensor& tensor : t->parameters()) {
      if (std::ranges::find(useless_, tensor) != useless_.end()) continue;
      const Floats values = read(tensor);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::optional<TrainingGraph> t;

 private:
  void add_convolution(std::int64_t from, std::int64_t to) {
    const auto layer = std::make_shared<layers::Convolution>(from, to, 3);
    h_ = graph_.node(layer, h_);
    useless_.push_back(layer->biases());
  }
  template <class Layer, class... Arguments>
  void add(Arguments... arguments) {
    h_ = graph_.node(std::make_shared<Layer>(arguments...), h_);
  }
  Tensor image_{{{kBatch, 1, 8, 8}}, "image"};
  Tensor label_{{{kBatch, kClasses}}, "label"};
  Tensor h_ = image_, before_, after_;
  Graph graph_;
  std::vector<Tensor> useless_;
};

/// What dropout let through, of what was not zero before.
std::vector<int> mask_of(const ExecutionResult& result) {
  const Floats before = floats_of(result.output("before"));
  const Floats after = floats_of(result.output("after"));
  std::vector<int> mask;
  for (std::size_t i = 0; i < before.size(); ++i) {
    mask.push_back(before[i] == 0 ? -1 : after[i] != 0);
  }
  return mask;
}

void expect_same_masks(const ExecutionResult& gpu, const ExecutionResult& cpu) {
  const auto on_gpu = mask_of(gpu), on_cpu = mask_of(cpu);
  int num_compared = 0, num_dropped = 0, num_different = 0;
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    // A ReLU may differ where its argument is nearly zero.
    if (on_gpu[i] < 0 || on_cpu[i] < 0) continue;
    ++num_compared;
    num_dropped += on_cpu[i] == 0;
    num_different += on_gpu[i] != on_cpu[i];
  }
  EXPECT_EQ(num_different, 0);
  EXPECT_NEAR(num_dropped, 0.25 * num_compared, 0.06 * num_compared);
}

class Training : public GpuTest {};

// The devices add in other orders, so gradients differ by about 1e-7 of their
// size. Adam divides them by their own size: where a gradient is nearly zero,
// one step may differ by a good part of the rate (1e-3). Measured over fifty
// steps: losses to 5e-7, parameters to 2e-5; other orders of adding may do
// worse.
TEST_F(Training, DigitsOnBothDevices) {
  const Digits data;
  DigitsNet cpu(Device::cpu());
  DigitsNet gpu(Device::gpu(), &cpu);
  float first = 0, last = 0;
  double worst_loss = 0, worst_parameter = 0;
  for (int step = 0; step < kSteps; ++step) {
    const ExecutionResult on_cpu = cpu.step(data, step);
    const ExecutionResult on_gpu = gpu.step(data, step);
    expect_same_masks(on_gpu, on_cpu);
    last = on_cpu.loss();
    if (step == 0) first = last;
    worst_loss = std::max(
        worst_loss, std::abs(double(on_gpu.loss()) - last) / std::abs(last));
    const Floats got = gpu.parameters(), want = cpu.parameters();
    for (std::size_t i = 0; i < want.size(); ++i) {
      worst_parameter =
          std::max(worst_parameter, std::abs(double(got[i]) - want[i]));
    }
  }
  EXPECT_LT(last, 0.5 * first);
  EXPECT_LT(worst_loss, 1e-5);
  EXPECT_LT(worst_parameter, 2e-4);
}

}  // namespace
}  // namespace traingraph
