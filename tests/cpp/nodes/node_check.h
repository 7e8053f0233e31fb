// SPDX-License-Identifier: MIT
// Runs a filter and its gradient filters and compares them with the documented
// formula in float64: its values, and its central differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/training.h"
#include "traingraph/nodes.h"

namespace traingraph::testing {

inline constexpr std::int64_t kBatch = 2;

/// Images of a batch in float64.
struct Images {
  nodes::ImageSize size;
  Doubles values;

  Images() = default;
  explicit Images(nodes::ImageSize s) : size(s), values(count(s), 0.0) {}
  static std::size_t count(const nodes::ImageSize& s) {
    return static_cast<std::size_t>(kBatch * s.feature_channels * s.height *
                                    s.width);
  }
  double& at(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    return values[index(n, c, y, x)];
  }
  double at(std::int64_t n, std::int64_t c, std::int64_t y,
            std::int64_t x) const {
    return values[index(n, c, y, x)];
  }
  /// 0 outside.
  double padded(std::int64_t n, std::int64_t c, std::int64_t y,
                std::int64_t x) const {
    return contains(y, x) ? at(n, c, y, x) : 0;
  }
  bool contains(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < size.height && x >= 0 && x < size.width;
  }

 private:
  std::size_t index(std::int64_t n, std::int64_t c, std::int64_t y,
                    std::int64_t x) const {
    return static_cast<std::size_t>(
        ((n * size.feature_channels + c) * size.height + y) * size.width + x);
  }
};

/// Calls f(n, c, y, x) for every element.
template <class Function>
void for_each_element(const nodes::ImageSize& size, Function f) {
  for (std::int64_t n = 0; n < kBatch; ++n)
    for (std::int64_t c = 0; c < size.feature_channels; ++c)
      for (std::int64_t y = 0; y < size.height; ++y)
        for (std::int64_t x = 0; x < size.width; ++x) f(n, c, y, x);
}

using Formula = std::function<Images(const std::vector<Images>&)>;
using MakeFilter =
    std::function<nodes::FilterNode(const std::vector<nodes::ImageNode>&)>;

struct NodeCase {
  std::string name;
  std::vector<nodes::ImageSize> sources;
  MakeFilter make;
  Formula formula;
  /// Inputs are in (low, high).
  double low = -1, high = 1;
  double tolerance = 2e-5;
  /// The number of first sources whose gradients are checked; 0: all.
  std::size_t num_gradients = 0;
  /// Does MPSNN run it and its gradients on a GPU? Else MPSGraph does, and
  /// metal/mpsnn/support.cpp says why.
  bool is_mpsnns = true;
  /// Gradients that are asked for, of the first sources; -1: all.
  int num_asked = -1;
};

/// Do image graphs compute all of a compiled graph? False where there are none.
bool runs_on_mpsnn(const nodes::Graph& graph);

/// Fails the test with the case's name.
void check_node(const NodeCase& node, unsigned seed);

/// Weights that a test gives.
struct GivenWeights : nodes::ConvolutionDataSource {
  GivenWeights(nodes::ConvolutionDescriptor d, unsigned seed,
               OptimizerPtr optimizer = nullptr);
  nodes::ConvolutionDescriptor descriptor() const override { return given; }
  std::span<const float> weights() override { return weight_values; }
  std::span<const float> bias_terms() override { return bias_values; }
  OptimizerPtr optimizer() const override { return given_optimizer; }
  bool load() override { return ++num_loads > 0; }
  void purge() override { ++num_purges; }
  bool update(const nodes::ConvolutionGradients& gradients) override {
    weight_gradients.assign(gradients.weights.begin(), gradients.weights.end());
    bias_gradients.assign(gradients.biases.begin(), gradients.biases.end());
    for (std::size_t i = 0; i < weight_values.size(); ++i) {
      weight_values[i] -= rate * weight_gradients[i];
    }
    for (std::size_t i = 0; i < bias_values.size(); ++i) {
      bias_values[i] -= rate * bias_gradients[i];
    }
    return updates;
  }

  nodes::ConvolutionDescriptor given;
  Floats weight_values, bias_values, weight_gradients, bias_gradients;
  OptimizerPtr given_optimizer;
  float rate = 0.125f;
  bool updates = true;
  int num_loads = 0, num_purges = 0;
};

struct GivenNormalization : nodes::NormalizationDataSource {
  GivenNormalization(std::int64_t channels, unsigned seed,
                     std::int64_t groups = 1);
  std::int64_t feature_channels() const override { return channels; }
  std::int64_t groups() const override { return num_groups; }
  float epsilon() const override { return given_epsilon; }
  float momentum() const override { return given_momentum; }
  OptimizerPtr optimizer() const override { return given_optimizer; }
  bool update(const nodes::NormalizationGradients& gradients) override {
    gamma_gradients.assign(gradients.gamma.begin(), gradients.gamma.end());
    beta_gradients.assign(gradients.beta.begin(), gradients.beta.end());
    for (std::size_t i = 0; i < gamma_values.size(); ++i) {
      gamma_values[i] -= rate * gamma_gradients[i];
      beta_values[i] -= rate * beta_gradients[i];
    }
    return true;
  }
  std::span<const float> gamma() override { return gamma_values; }
  std::span<const float> beta() override { return beta_values; }
  std::span<const float> mean() override { return mean_values; }
  std::span<const float> variance() override { return variance_values; }

  std::int64_t channels, num_groups;
  float given_momentum = 1, given_epsilon = 1e-3f, rate = 0.125f;
  OptimizerPtr given_optimizer;
  Floats gamma_gradients, beta_gradients;
  Floats gamma_values, beta_values, mean_values, variance_values;
};

}  // namespace traingraph::testing
