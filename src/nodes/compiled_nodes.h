// SPDX-License-Identifier: MIT
// What a nodes::Graph points to.
#pragma once

#include <cstdint>
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
  std::string name;
  ConvolutionDataSourcePtr convolution;
  NormalizationDataSourcePtr normalization;
  TrainingStyle style = TrainingStyle::None;
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, bool> is_given = {};

  /// The tensor is empty when no filter reads it.
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

/// What update() changed: running statistics are the device's.
enum class LoadedRoles : std::uint8_t { All, Updated };

/// Gives the tensors the values of their data source; the first time it notes
/// which values there are. Throws InvalidArgument and ShapeError naming it.
void load_weights(WeightSource& source, LoadedRoles roles = LoadedRoles::All);

std::shared_ptr<CompiledNodes> compile_nodes(
    const Device& device, const std::vector<ImageNode>& result_images,
    const GraphOptions& options);

}  // namespace traingraph::nodes
