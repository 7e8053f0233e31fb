// SPDX-License-Identifier: MIT
// A small network that every rank of a group of threads trains on its part of
// 12 samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/thread_collective.h"
#include "support/training.h"
#include "traingraph/collective.h"

namespace traingraph::testing {

/// What a rank compiles.
struct RankOptions {
  OptimizerPtr optimizer = nullptr;  // null: SGD; it is cloned
  ReductionType reduction = ReductionType::Mean;
  CompileOptions compile = {};
  unsigned seed = 1;  // of the parameters
  float dropout = 0;
};

struct RankNet {
  static constexpr std::int64_t kSamples = 12;

  explicit RankNet(const RankOptions& options) {
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
    graph.node(std::make_shared<layers::FullyConnected>(parameter({3, 7}, 3),
                                                        parameter({3}, 4)),
               y);
    OptimizerPtr optimizer =
        options.optimizer ? options.optimizer->clone() : sgd(0.1f);
    t.emplace(std::vector{graph},
              std::make_shared<losses::MeanSquaredError>(
                  LossDescriptor{.reduction_type = options.reduction}),
              std::move(optimizer));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"hidden", hidden}});
    CompileOptions compile = options.compile;
    // A test that hangs should not do so for long.
    compile.data_parallel.timeout =
        std::min(compile.data_parallel.timeout, 20.0);
    t->compile(Device::cpu(1), compile);
  }
  RankNet(const RankNet&) = delete;

  Execution step(std::int64_t begin, std::int64_t count) {
    return t->execute({{"x", rows(x_data, 5, begin, count)}},
                      {{"label", rows(labels, 3, begin, count)}}, {},
                      {.batch_size = count});
  }
  void forward(std::int64_t begin, std::int64_t count) {
    t->execute_forward({{"x", rows(x_data, 5, begin, count)}},
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

/// Samples [begin, begin + count) of a rank.
struct Part {
  std::int64_t begin = 0, count = 0;
};

/// 12 samples in `size` parts, all of one size or, if not `is_even`, of sizes
/// that differ.
inline std::vector<Part> parts_of(int size, bool is_even) {
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (int rank = 0; rank < size; ++rank) {
    const std::int64_t left = RankNet::kSamples - begin;
    std::int64_t count = RankNet::kSamples / size;
    if (!is_even && rank == 0) count = std::max<std::int64_t>(1, count - 2);
    if (rank == size - 1) count = left;
    parts.push_back({begin, count});
    begin += count;
  }
  return parts;
}

/// The options of one rank of a group.
inline RankOptions with_rank(RankOptions options, const ThreadGroup& group,
                             int rank) {
  options.compile.data_parallel.collective = group[rank];
  return options;
}

}  // namespace traingraph::testing
