// SPDX-License-Identifier: MIT
// A small graph that bytes describe, through the public API: layers of every
// family with good and bad parameters, wired in every way. Equal bytes give
// equal graphs with equal parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "byte_reader.h"
#include "traingraph/traingraph.h"

namespace traingraph::fuzz {

/// Adds what `record` describes to `graph`, reading from `pool`. Appends the
/// results to `pool`, and new labels to `labels`. Throws what the API throws.
void add_layer(ByteReader record, Graph& graph, std::vector<Tensor>& pool,
               TensorMap& labels);

/// The same for the layers of layers_of_several_sources.cpp, from three
/// tensors.
void add_more_layer(ByteReader record, Graph& graph,
                    const std::vector<Tensor>& sources,
                    std::vector<Tensor>& pool);

struct RandomGraph {
  /// Throws what optimizers and losses throw. Layers that are refused are left
  /// out: refusing one must leave the graph as it was.
  explicit RandomGraph(std::span<const std::uint8_t> bytes);

  Graph graph;
  TensorMap inputs, labels, outputs, constants;
  std::vector<Tensor> stopped;
  std::vector<TensorParameter> trained_inputs;
  std::shared_ptr<const losses::Loss> loss;  // may be null
  OptimizerPtr optimizer;                    // may be null
  CompileOptions options;
  bool trains = true;
  std::int64_t batch = 1, smaller_batch = 1;

 private:
  void choose_options(ByteReader record);
  void choose_optimizer(ByteReader record);
  void add_source(ByteReader record);
  void add_layers(ByteReader reader);
  void choose_loss(ByteReader record);
  void declare(ByteReader record);

  std::vector<Tensor> pool_;  // sources, then results
  int num_sources_ = 0;
};

}  // namespace traingraph::fuzz
