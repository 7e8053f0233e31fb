// SPDX-License-Identifier: MIT
#include "training/digits_net.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace traingraph::testing {
namespace {

float intensity(char c) {
  const int value = c <= '9' ? c - '0' : c - 'a' + 10;
  return static_cast<float>(value) / 16;
}

}  // namespace

std::vector<std::ptrdiff_t> classes_of(std::span<const float> rows) {
  std::vector<std::ptrdiff_t> classes;
  for (; !rows.empty(); rows = rows.subspan(kClasses)) {
    const auto row = rows.first(kClasses);
    classes.push_back(std::ranges::max_element(row) - row.begin());
  }
  return classes;
}

Digits::Digits() {
  std::ifstream file(TRAINGRAPH_DIGITS);
  int digit;
  std::string scan;
  while (file >> digit >> scan) {
    for (char c : scan) images_.push_back(intensity(c));
    labels_.resize(labels_.size() + kClasses);
    labels_.end()[digit - kClasses] = 1;
  }
  constexpr std::size_t kScans = kBatch * kSteps;
  if (labels_.size() != kScans * kClasses ||
      images_.size() != kScans * kPixels) {
    throw std::runtime_error("cannot read " TRAINGRAPH_DIGITS);
  }
}

DigitsNet::DigitsNet(const Device& device, const DigitsNet* other) {
  Platform::set_rng_seed(1);
  add_normalized_convolution(1, 32);
  add_normalized_convolution(32, 64);
  h_ = graph_.reshape({kBatch, -1}, h_);
  const Tensor before = h_;
  add<layers::Dropout>(0.25f, 11);
  const Tensor after = h_;
  add<layers::FullyConnected>(64 * 2 * 2, 128);
  add<layers::ReLU>();
  add<layers::FullyConnected>(128, kClasses);
  t.emplace(std::vector{graph_},
            std::make_shared<losses::SoftmaxCrossEntropy>(), adam_);
  t->add_inputs({{"image", image_}}, {{"label", label_}});
  t->add_outputs({{"before", before}, {"after", after}, {"logits", h_}});
  t->compile(device);
  if (!other) return;
  const auto parameters = t->parameters(), from = other->t->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Floats values = read(from[i]);
    parameters[i].bind_and_write_data(view(values), device);
  }
}

void DigitsNet::add_normalized_convolution(std::int64_t from, std::int64_t to) {
  const auto layer = std::make_shared<layers::Convolution>(from, to, 3);
  useless_.push_back(layer->biases());
  h_ = graph_.node(layer, h_);
  const auto norm = std::make_shared<layers::BatchNormalization>(to);
  variances_.push_back(norm->variance());
  h_ = graph_.node(norm, h_);
  add<layers::ReLU>();
  add<layers::MaxPooling>(2);
}

ExecutionResult DigitsNet::step(const Digits& data, int batch) {
  return t
      ->execute({{"image", data.images(batch)}},
                {{"label", data.labels(batch)}})
      .result();
}

ExecutionResult DigitsNet::step_in_phases(const Digits& data, int batch) {
  const Execution forward = t->execute_forward({{"image", data.images(batch)}},
                                               {{"label", data.labels(batch)}});
  t->execute_gradient();
  t->execute_optimizer_update();
  return forward.result();
}

std::vector<Tensor> DigitsNet::parameters() const {
  std::vector<Tensor> all = t->parameters();
  std::erase_if(all, [&](const Tensor& tensor) {
    return std::ranges::find(useless_, tensor) != useless_.end();
  });
  return all;
}

}  // namespace traingraph::testing
