// SPDX-License-Identifier: MIT
// Weights and biases of layers: given as tensors or created.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layers/sized.h"
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
class TRAINGRAPH_API WeightedLayer : public SizedLayer {
 public:
  const Tensor& weights() const& { return own().weights.tensor(); }
  Tensor weights() const&& { return own().weights.tensor(); }
  /// The tensor is empty without biases.
  const Tensor& biases() const& { return own().biases.tensor_or_none(); }
  Tensor biases() const&& { return own().biases.tensor_or_none(); }
  /// Handles: set_updatable(false) freezes the layer's own parameter.
  TensorParameter weights_parameter() const { return own().weights; }
  TensorParameter biases_parameter() const { return own().biases; }
  /// Parameters are weights, then biases.
  std::vector<TensorParameter> parameters() const override;

 protected:
  /// `op` is the class, for messages.
  WeightedLayer(const char* op, WeightOptions options);
  /// `weights_shape` is (out, in, kernel sizes ...); `other_shape` is accepted
  /// as well and holds the same bytes.
  std::unique_ptr<Parts> make_weights(const Shape& sizes,
                                      const Shape& weights_shape,
                                      const Shape& other_shape) const;
  const WeightOptions& options() const { return options_; }

 private:
  struct WeightedParts : Parts {
    TensorParameter weights, biases;
  };
  const WeightedParts& own() const { return parts<WeightedParts>(); }

  const char* op_;
  WeightOptions options_;
};

}  // namespace layers
}  // namespace traingraph
