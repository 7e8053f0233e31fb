// SPDX-License-Identifier: MIT
// Two layers that train on any part of 12 samples: what several passes, or
// several processes, make of them is compared with one batch of all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

struct SmallNetOptions {
  OptimizerPtr optimizer = nullptr;  // null: SGD; it is cloned
  ReductionType reduction = ReductionType::Mean;
  CompileOptions compile = {};
  unsigned seed = 0;  // of the parameters
  float dropout = 0;
  bool stops_at_hidden = false;  // the first layer has no gradients
  bool groups = false;           // half the rate, and no decay, of the biases
};

struct SmallNet {
  static constexpr std::int64_t kSamples = 12;

  SmallNet(const Device& device, const SmallNetOptions& options) {
    const auto parameter = [&](Shape shape, unsigned seed) {
      return Tensor({shape}, view(random_floats(shape.num_elements(),
                                                10 * options.seed + seed)));
    };
    Tensor y = graph.node(std::make_shared<layers::FullyConnected>(
                              parameter({7, 5}, 1), parameter({7}, 2)),
                          x);
    y = graph.node(std::make_shared<layers::Tanh>(), y);
    if (options.dropout > 0) {
      y = graph.node(std::make_shared<layers::Dropout>(options.dropout), y);
    }
    hidden = y;
    const Tensor bias = parameter({3}, 4);
    graph.node(
        std::make_shared<layers::FullyConnected>(parameter({3, 7}, 3), bias),
        y);
    OptimizerPtr optimizer =
        options.optimizer ? options.optimizer->clone() : sgd(0.1f);
    t.emplace(std::vector{graph},
              std::make_shared<losses::MeanSquaredError>(
                  LossDescriptor{.reduction_type = options.reduction}),
              std::move(optimizer));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"hidden", hidden}});
    if (options.stops_at_hidden) t->stop_gradient({hidden});
    if (options.groups) {
      t->set_parameter_groups(
          {{.parameters = {bias}, .lr_scale = 0.5f, .weight_decay = 0.0f}});
    }
    t->compile(device, options.compile);
  }
  SmallNet(const SmallNet&) = delete;

  Execution step(std::int64_t begin, std::int64_t count) {
    return t->execute({{"x", rows(x_data, 5, begin, count)}},
                      {{"label", rows(labels, 3, begin, count)}}, {},
                      {.batch_size = count});
  }
  Execution forward(std::int64_t begin, std::int64_t count) {
    return t->execute_forward({{"x", rows(x_data, 5, begin, count)}},
                              {{"label", rows(labels, 3, begin, count)}}, {},
                              {.batch_size = count});
  }
  std::vector<Floats> values() const {
    std::vector<Floats> all;
    for (const Tensor& tensor : t->parameters()) all.push_back(read(tensor));
    return all;
  }
  std::vector<Floats> gradients() const {
    std::vector<Floats> all;
    for (const Tensor& tensor : t->parameters()) {
      all.push_back(t->gradient_data(tensor));
    }
    return all;
  }

  static TensorData rows(const Floats& of, std::int64_t width,
                         std::int64_t begin, std::int64_t count) {
    return TensorData(
        std::span<const float>(of.data() + begin * width, count * width));
  }

  Tensor x{{{kSamples, 5}}, "x"}, label{{{kSamples, 3}}, "label"}, hidden;
  Floats x_data = random_floats(kSamples * 5, 5);
  Floats labels = random_floats(kSamples * 3, 6);
  Graph graph;
  std::optional<TrainingGraph> t;
};

}  // namespace traingraph::testing
