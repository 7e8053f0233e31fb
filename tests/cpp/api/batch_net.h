// SPDX-License-Identifier: MIT
// The network that runs batches of several sizes, and data for it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

/// A small CNN with all that mentions the batch: reshape, pooling, batch norm.
struct Cnn {
  explicit Cnn(std::int64_t batch) {
    x = Tensor({{batch, 1, 6, 6}}, "x");
    label = Tensor({{batch, 3}}, "label");
    conv = std::make_shared<layers::Convolution>(1, 4, 3, PaddingPolicy::Same,
                                                 weights({4, 1, 3, 3}, 1));
    fc = std::make_shared<layers::FullyConnected>(36, 3, weights({3, 36}, 2));
    Tensor h = graph.node(conv, x);
    h = graph.node(std::make_shared<layers::BatchNormalization>(4), h);
    h = graph.node(std::make_shared<layers::ReLU>(), h);
    h = graph.node(std::make_shared<layers::MaxPooling>(2), h);
    h = graph.reshape({batch, -1}, h);
    y = graph.node(fc, h);
  }
  static WeightOptions weights(Shape shape, unsigned seed) {
    const Floats values = random_floats(shape.num_elements(), seed);
    const Floats zeros(shape[0], 0.0f);
    return {.weights = Tensor({shape}, view(values)),
            .biases = Tensor({{shape[0]}}, view(zeros))};
  }
  TrainingGraph train(const CompileOptions& options = {}) {
    TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                    sgd(0.1f, 0.9f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"y", y}});
    t.compile(test_device(), options);
    return t;
  }
  Tensor x, label, y;
  Graph graph;
  std::shared_ptr<layers::Convolution> conv;
  std::shared_ptr<layers::FullyConnected> fc;
};

struct Data {
  explicit Data(std::int64_t batch, unsigned seed = 3)
      : x(random_floats(batch * 36, seed)), label(one_hot(batch, 3)) {}
  Floats x, label;
  std::vector<NamedData> inputs{{"x", view(std::as_const(x))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label))}};
};

}  // namespace traingraph::testing
