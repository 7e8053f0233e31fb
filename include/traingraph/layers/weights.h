// SPDX-License-Identifier: MIT
// Weights and biases of layers: given as tensors or created.
#pragma once

#include <optional>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"
#include "traingraph/tensor.h"

namespace traingraph {

/// Options say where a layer's parameters come from. Weights that are not given
/// are created from the platform's seed, with `initializer` (Glorot uniform),
/// biases with zeros, unless `uses_biases` is off. InvalidArgument for an
/// initializer of given weights, and for given biases that are off. Weights are
/// floats of any type, biases of the same: what is created follows what is
/// given. Sources of the layer must have that type, too; cast converts.
struct WeightOptions {
  Tensor weights = {};
  Tensor biases = {};
  std::optional<RandomInitializerType> initializer = std::nullopt;
  bool uses_biases = true;
};

namespace layers {

/// A layer with weights and optional biases.
class TRAINGRAPH_API WeightedLayer : public Layer {
 public:
  const Tensor& weights() const& { return weights_.tensor(); }
  Tensor weights() const&& { return weights_.tensor(); }
  /// The tensor is empty without biases.
  const Tensor& biases() const& { return biases_.tensor_or_none(); }
  Tensor biases() const&& { return biases_.tensor_or_none(); }
  /// Handles: set_updatable(false) freezes the layer's own parameter.
  TensorParameter weights_parameter() const { return weights_; }
  TensorParameter biases_parameter() const { return biases_; }
  /// Parameters are weights, then biases.
  std::vector<TensorParameter> parameters() const override;

 protected:
  using Layer::Layer;
  /// `op` is for messages; `weights_shape` is (out, in, kernel sizes ...);
  /// `other_shape` is accepted as well and holds the same bytes.
  void set_weights(const char* op, const WeightOptions& options,
                   const Shape& weights_shape, const Shape& other_shape);

 private:
  TensorParameter weights_;
  TensorParameter biases_;
};

}  // namespace layers
}  // namespace traingraph
