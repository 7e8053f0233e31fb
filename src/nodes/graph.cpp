// SPDX-License-Identifier: MIT
// nodes::Graph: runs, reloads and reads back. It is made in compile_nodes.cpp.
#include "traingraph/nodes/graph.h"

#include <algorithm>

#include "nodes/compiled_nodes.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

std::vector<float> read(const Tensor& tensor) {
  std::vector<float> values(tensor.shape().num_elements());
  tensor.copy_data_from_device_memory(
      std::as_writable_bytes(std::span<float>(values)));
  return values;
}

/// What a run left under one of the names of the graph; empty without one.
std::span<const float> output(const std::vector<OutputView>& outputs,
                              const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &OutputView::name);
  if (found == outputs.end()) return {};
  const auto* first = reinterpret_cast<const float*>(found->data.data());
  return {first, found->data.size() / sizeof(float)};
}

void update_on_host(WeightSource& source,
                    const std::vector<OutputView>& outputs) {
  const auto gradient = [&](const char* role) {
    return output(outputs, source.name + "." + role);
  };
  const bool is_updated =
      source.convolution
          ? source.convolution->update(
                {gradient("weights"), gradient("biases")})
          : source.normalization->update({gradient("gamma"), gradient("beta")});
  if (is_updated) return load_weights(source, LoadedRoles::Updated);
  throw DeviceError(
      ErrorInfo{.op = "update",
                .node = source.name,
                .what = "the data source could not update its weights",
                .expected = "true",
                .got = "false",
                .hint = {}});
}

template <class Run>
Execution run_and_update(CompiledNodes& nodes, const Run& run) {
  const std::scoped_lock lock(nodes.host_updates);
  Execution execution = run();
  const std::vector<OutputView> outputs = execution.result().outputs();
  for (WeightSource& source : nodes.sources) {
    if (source.style == TrainingStyle::CPU) update_on_host(source, outputs);
  }
  return execution;
}

}  // namespace

Graph::Graph(const Device& device, const std::vector<ImageNode>& result_images,
             const GraphOptions& options)
    : state_(compile_nodes(device, result_images, options)) {}

std::vector<std::string> Graph::source_image_handles() const {
  return state_->source_handles;
}

std::vector<std::string> Graph::result_handles() const {
  return state_->result_handles;
}

Execution Graph::execute(DataList source_images,
                         const ExecuteOptions& options) {
  CompiledNodes& nodes = *state_;
  const auto run = [&](const ExecuteOptions& with) {
    return nodes.has_gradients
               ? nodes.graph.execute(source_images, {}, {}, with)
               : nodes.graph.execute_forward(source_images, {}, {}, with);
  };
  if (!nodes.updates_on_host()) return run(options);
  ExecuteOptions without_handler = options;
  without_handler.completion_handler = {};
  Execution execution =
      run_and_update(nodes, [&] { return run(without_handler); });
  if (options.completion_handler) {
    execution.add_done_callback(options.completion_handler);
  }
  return execution;
}

void Graph::reload_from_data_sources() {
  const std::scoped_lock lock(state_->host_updates);
  for (WeightSource& source : state_->sources) load_weights(source);
}

Graph::Weights Graph::weights(const ConvolutionDataSource& of) const {
  for (const WeightSource& source : state_->sources) {
    if (source.convolution.get() != &of) continue;
    Weights weights{.weights = read(source.tensor("weights")), .biases = {}};
    if (source.has("biases")) weights.biases = read(source.tensor("biases"));
    return weights;
  }
  return {};
}

Graph::Parameters Graph::parameters(const NormalizationDataSource& of) const {
  for (const WeightSource& source : state_->sources) {
    if (source.normalization.get() != &of) continue;
    Parameters parameters;
    if (source.has("gamma")) parameters.gamma = read(source.tensor("gamma"));
    if (source.has("beta")) parameters.beta = read(source.tensor("beta"));
    if (!source.tensor("mean")) return parameters;
    parameters.mean = read(source.tensor("mean"));
    parameters.variance = read(source.tensor("variance"));
    return parameters;
  }
  return {};
}

const TrainingGraph& Graph::compiled() const& { return state_->graph; }

}  // namespace traingraph::nodes
