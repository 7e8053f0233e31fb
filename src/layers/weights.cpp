// SPDX-License-Identifier: MIT
#include "traingraph/layers/weights.h"

#include <array>

#include "layers/validate.h"

namespace traingraph::layers {

std::vector<TensorParameter> WeightedLayer::parameters() const {
  std::vector<TensorParameter> result{weights_};
  if (biases_) result.push_back(biases_);
  return result;
}

void WeightedLayer::set_weights(const char* op, const WeightOptions& options,
                                const Shape& weights_shape,
                                const Shape& other_shape) {
  Tensor weights = options.weights;
  Tensor biases = options.biases;
  const std::int64_t outputs = weights_shape[0];
  const std::array given{weights, biases};
  const DataType type = type_of_weights({given});
  require_option(!weights || !options.initializer, op, "initializer",
                 "none: the weights are given",
                 std::string(to_string(options.initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  require_option(!biases || options.uses_biases, op, "uses_biases",
                 "on: biases are given", "off");
  if (weights) {
    require_parameter(op, "weights", weights, {weights_shape, other_shape},
                      type);
  } else {
    weights = created(op, "weights", [&] {
      return Tensor::random(
          TensorDescriptor{weights_shape, type},
          options.initializer.value_or(RandomInitializerType::GlorotUniform));
    });
  }
  if (biases) {
    const Shape vector{outputs}, given = biases.shape();
    const bool is_same = squeezed(given) == squeezed(vector);
    require_parameter(op, "biases", biases,
                      {vector, is_same ? given : Shape{1, outputs, 1, 1}},
                      type);
  } else if (options.uses_biases) {
    biases = created(op, "biases", [&] {
      return Tensor::filled(TensorDescriptor{{outputs}, type}, 0);
    });
  }
  weights_ = TensorParameter(weights);
  name_tensor(weights, "weights");
  if (!biases) return;
  biases_ = TensorParameter(biases);
  name_tensor(biases, "biases");
}

}  // namespace traingraph::layers
