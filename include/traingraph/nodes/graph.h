// SPDX-License-Identifier: MIT
// nodes::Graph: filter nodes, compiled for a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traingraph/device.h"
#include "traingraph/nodes/data_source.h"
#include "traingraph/nodes/node.h"
#include "traingraph/training_graph.h"

namespace traingraph::nodes {

struct CompiledNodes;

struct GraphOptions {
  /// The most images of a run.
  std::int64_t batch_size = 1;
  /// Says by result image which are needed; none: all. What only an image that
  /// is not needed depends on is left out, updates of weights stay.
  std::vector<bool> results_are_needed = {};
  /// MPSNN runs the filters that it has, on Metal; with false MPSGraph runs
  /// all, as ops. Other devices have one way.
  bool uses_mpsnn = true;
};

/// Everything that `result_images` depend on, as it is now: nodes may change or
/// go afterwards. Weights are read from the data sources once.
///
/// A run computes all images, then each data source with TrainingStyle::GPU has
/// its weights updated on the device, and each with TrainingStyle::CPU on the
/// host, by gradients that are sums over the batch. The next run has the new
/// weights. Runs are in the order of calls, which may come from any thread.
///
/// A handle: copies are the same graph. Throws InvalidArgument for images
/// without a source, two of one handle, and data sources that have no weights
/// or no way to be updated; UnsupportedError naming the node; StateError.
class TRAINGRAPH_API Graph {
 public:
  Graph(const Device& device, const std::vector<ImageNode>& result_images,
        const GraphOptions& options = {});

  /// Handles of what a run is given, in the order in which nodes were made.
  std::vector<std::string> source_image_handles() const;
  /// Names of what a run returns: result images first, then exported images and
  /// states. An image has its handle, else the name of its filter; a state's
  /// are "name.weights" and "name.biases", or "name.gamma" and "name.beta".
  std::vector<std::string> result_handles() const;

  /// Enqueues a run on images (batch, channels, height, width), by handle.
  /// Throws InvalidArgument, ShapeError, DTypeError for data that do not fit.
  /// Where data sources are updated on the host the call waits for the run and
  /// the updates, throws their errors, and then calls the completion handler.
  Execution execute(DataList source_images, const ExecuteOptions& options = {});

  /// Reads all data sources again; waits for the runs in flight.
  void reload_from_data_sources();
  /// The weights as they are on the device, waiting for the runs in flight.
  /// Empty when the graph does not have the source. `biases`, `beta`: what
  /// the source has none of stays empty.
  struct Weights {
    std::vector<float> weights, biases;
  };
  Weights weights(const ConvolutionDataSource& source) const;
  struct Parameters {
    std::vector<float> gamma, beta, mean, variance;
  };
  Parameters parameters(const NormalizationDataSource& source) const;

  /// The graph as the device sees it: memory, reports, profiles, pictures.
  const TrainingGraph& compiled() const&;

 private:
  std::shared_ptr<CompiledNodes> state_;
};

/// Graphviz text of everything that the images depend on: boxes are filters,
/// round ones gradient filters, dashed edges lead from a filter to its
/// gradient.
TRAINGRAPH_API std::string summarized_dot_description(
    const std::vector<ImageNode>& result_images);

}  // namespace traingraph::nodes
