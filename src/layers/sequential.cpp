// SPDX-License-Identifier: MIT
// Chains of layers: Sequential, and Graph::sequence.
#include "traingraph/layers/sequential.h"

#include <algorithm>
#include <utility>

#include "layers/sequence.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"

namespace traingraph {
namespace {

/// A place in a chain, counted from 1.
struct Place {
  std::size_t index, count;

  std::string to_string() const {
    return "layer " + std::to_string(index) + " of " + std::to_string(count);
  }
  template <class Kind>
  Kind error(const Kind& error) const {
    ErrorInfo info = error.info();
    info.what += " (" + to_string() + " in a sequence)";
    return Kind(std::move(info));
  }
};

/// Returns what `add` does; errors say which layer is theirs.
template <class Add>
Tensor at(const Place& place, Add add) {
  try {
    return add();
  } catch (const ShapeError& error) {
    throw place.error(error);
  } catch (const DTypeError& error) {
    throw place.error(error);
  } catch (const InvalidArgument& error) {
    throw place.error(error);
  } catch (const StateError& error) {
    throw place.error(error);
  }
}

}  // namespace

namespace layers {

Sequential::Sequential(std::vector<LayerPtr> layers)
    : Layer("Sequential"), layers_(std::move(layers)) {
  const auto none = std::ranges::find(layers_, nullptr);
  if (!layers_.empty() && none == layers_.end()) return;
  throw InvalidArgument(
      {.op = "Sequential",
       .what = "a layer is missing",
       .expected = "one layer or more",
       .got = layers_.empty()
                  ? "none"
                  : "none at " + std::to_string(none - layers_.begin())});
}

std::vector<TensorParameter> Sequential::parameters() const {
  std::vector<TensorParameter> all;
  for (const LayerPtr& layer : layers_) {
    const std::vector<TensorParameter> own = layer->parameters();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<Tensor> Sequential::statistics() const {
  std::vector<Tensor> all;
  for (const LayerPtr& layer : layers_) {
    const std::vector<Tensor> own = layer->statistics();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

bool Sequential::is_built() const {
  return std::ranges::all_of(
      layers_, [](const LayerPtr& layer) { return layer->is_built(); });
}

void Sequential::use_inference_form(bool uses) const {
  for (const LayerPtr& layer : layers_) layer->use_inference_form(uses);
}

bool Sequential::uses_inference_form() const {
  return std::ranges::all_of(layers_, [](const LayerPtr& layer) {
    return layer->uses_inference_form();
  });
}

void Sequential::lower(LayerBuilder& /*builder*/) const {
  throw InternalError("Graph::node adds the layers of a Sequential");
}

}  // namespace layers

Tensor add_nodes(Graph& graph, const layers::Sequential& chain,
                 std::vector<Tensor> sources, const NodeOptions& options) {
  const std::vector<LayerPtr>& layers = chain.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_last = i + 1 == layers.size();
    const NodeOptions own{
        .disable_update = options.disable_update,
        .loss_labels = is_last ? options.loss_labels : std::vector<Tensor>()};
    sources = {at({i + 1, layers.size()}, [&] {
      return graph.node(layers[i], std::move(sources), own);
    })};
  }
  return sources.front();
}

Tensor Graph::sequence(Tensor source, const std::vector<SequenceStep>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Place place{i + 1, steps.size()};
    if (const LayerPtr* layer = std::get_if<LayerPtr>(&steps[i])) {
      source = at(place, [&] { return node(*layer, source); });
      continue;
    }
    source = std::get<TensorFunction>(steps[i])(source);
    if (source) continue;
    throw InvalidArgument(ErrorInfo{.op = "sequence",
                                    .node = {},
                                    .what = "a function returned no tensor",
                                    .expected = "a tensor",
                                    .got = "none of " + place.to_string(),
                                    .hint = {}});
  }
  return source;
}

}  // namespace traingraph
