// SPDX-License-Identifier: MIT
// Sequential: layers one after the other, as one.
#pragma once

#include <vector>

#include "traingraph/layer.h"

namespace traingraph::layers {

/// Graph::node adds a node for each layer, in order: the first gets the
/// sources, every other one the first result before. Labels of losses go to the
/// last. Some may be Sequential themselves. It is no layer of the graph: those
/// in it are, under their own names.
class TRAINGRAPH_API Sequential : public Layer {
 public:
  /// Throws InvalidArgument for none, and for one that is null.
  explicit Sequential(std::vector<LayerPtr> layers);

  const std::vector<LayerPtr>& layers() const& { return layers_; }
  std::vector<LayerPtr> layers() const&& { return layers_; }

  /// Parameters are those of all layers, in order.
  std::vector<TensorParameter> parameters() const override;
  std::vector<Tensor> statistics() const override;
  bool is_loss() const override { return layers_.back()->is_loss(); }
  bool is_built() const override;
  /// All of its layers do.
  void use_inference_form(bool uses = true) const override;
  bool uses_inference_form() const override;
  void lower(LayerBuilder& builder) const override;

 private:
  std::vector<LayerPtr> layers_;
};

}  // namespace traingraph::layers
