// SPDX-License-Identifier: MIT
#include "traingraph/layers/weights.h"

#include "layers/validate.h"

namespace traingraph::layers {

std::vector<TensorParameter> WeightedLayer::parameters() const {
  std::vector<TensorParameter> result{weights_};
  if (biases_) result.push_back(biases_);
  return result;
}

void WeightedLayer::set_weights(const WeightOptions& options,
                                const Shape& weights_shape,
                                const Shape& other_shape) {
  const char* op = label().c_str();
  Tensor weights = options.weights;
  Tensor biases = options.biases;
  const std::int64_t outputs = weights_shape[0];
  if (weights) {
    require_parameter(op, "weights", weights, {weights_shape, other_shape});
  } else {
    weights = Tensor::random({.shape = weights_shape}, options.initializer,
                             /*fan_in=*/0, /*fan_out=*/0, label() + ".weights");
  }
  if (biases) {
    require_parameter(op, "biases", biases,
                      {Shape{outputs}, Shape{1, outputs, 1, 1}});
  } else if (!options.weights && options.uses_biases) {
    biases = Tensor::filled({.shape = {outputs}}, 0, label() + ".biases");
  }
  weights_ = TensorParameter(weights);
  biases_ = biases ? TensorParameter(biases) : TensorParameter();
}

}  // namespace traingraph::layers
