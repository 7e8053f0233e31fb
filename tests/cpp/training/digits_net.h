// SPDX-License-Identifier: MIT
// Real scans of digits, and the network of examples/cpp/digits.cpp that learns
// to read them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

constexpr std::int64_t kBatch = 16, kPixels = 64, kClasses = 10;
constexpr int kSteps = 50;
constexpr float kRate = 1e-3f;

/// The classes that rows of scores or labels name.
std::vector<std::ptrdiff_t> classes_of(std::span<const float> rows);

/// The scans of tests/data/digits.txt in batches, enough for kSteps.
class Digits {
 public:
  Digits();
  std::span<const float> images(int batch) const {
    return std::span(images_).subspan(batch * kBatch * kPixels,
                                      kBatch * kPixels);
  }
  std::span<const float> labels(int batch) const {
    return std::span(labels_).subspan(batch * kBatch * kClasses,
                                      kBatch * kClasses);
  }

 private:
  Floats images_, labels_;
};

class DigitsNet {
 public:
  /// Parameters of its own, or those of another.
  explicit DigitsNet(const Device& device, const DigitsNet* other = nullptr);

  ExecutionResult step(const Digits& data, int batch);
  /// Makes the step in three calls.
  ExecutionResult step_in_phases(const Digits& data, int batch);
  /// What is trained and has an effect. What is added before a batch
  /// normalization has none: its gradient is rounding and nothing else.
  std::vector<Tensor> parameters() const;
  const std::vector<Tensor>& biases_before_norms() const { return useless_; }
  /// Running ones.
  const std::vector<Tensor>& variances() const { return variances_; }
  const OptimizerPtr& optimizer() const { return adam_; }

  std::optional<TrainingGraph> t;

 private:
  void add_normalized_convolution(std::int64_t from, std::int64_t to);
  template <class Layer, class... Arguments>
  void add(Arguments... arguments) {
    h_ = graph_.node(std::make_shared<Layer>(arguments...), h_);
  }

  Tensor image_{{{kBatch, 1, 8, 8}}, "image"};
  Tensor label_{{{kBatch, kClasses}}, "label"};
  Tensor h_ = image_;
  Graph graph_;
  OptimizerPtr adam_ = std::make_shared<optimizers::Adam>(kRate);
  std::vector<Tensor> useless_, variances_;
};

}  // namespace traingraph::testing
