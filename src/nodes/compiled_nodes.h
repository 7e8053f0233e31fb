// SPDX-License-Identifier: MIT
// What a nodes::Graph points to.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "traingraph/nodes/graph.h"

namespace traingraph::nodes {

/// A data source, the device's tensors of it, by role ("weights"), and which of
/// these it has values for.
struct WeightSource {
  std::string label;
  ConvolutionDataSourcePtr convolution;
  NormalizationDataSourcePtr normalization;
  TrainingStyle style = TrainingStyle::None;
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, bool> is_given = {};

  /// Empty when no filter reads it.
  Tensor tensor(const std::string& role) const {
    const auto found = tensors.find(role);
    return found == tensors.end() ? Tensor() : found->second;
  }
  bool has(const std::string& role) const {
    const auto found = is_given.find(role);
    return found != is_given.end() && found->second;
  }
};

struct CompiledNodes {
  explicit CompiledNodes(TrainingGraph training_graph)
      : graph(std::move(training_graph)) {}

  TrainingGraph graph;
  bool has_gradients = false;
  std::vector<std::string> source_handles, result_handles;
  std::vector<WeightSource> sources = {};
  /// One run at a time where data sources update their weights.
  std::mutex host_updates;

  bool updates_on_host() const;
};

/// Gives the tensors the values of their data source. Throws InvalidArgument
/// and ShapeError naming it.
void load_weights(const WeightSource& source);
/// The same of what update() changed: running statistics are the device's.
void load_updated_weights(const WeightSource& source);
/// All, and notes which values there are.
void load_weights_first(WeightSource& source);

std::shared_ptr<CompiledNodes> compile_nodes(
    const Device& device, const std::vector<ImageNode>& result_images,
    const GraphOptions& options);

}  // namespace traingraph::nodes
